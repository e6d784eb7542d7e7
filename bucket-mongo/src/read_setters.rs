//! The setters that the builder of every read has.

/// Generates `session`, `deadline`, `max_time`, `read_concern` and `read_preference` for a builder whose
/// [`ReadOptions`](crate::read::ReadOptions) are at this path from `self`.
macro_rules! read_setters {
    ($($path:ident).+) => {
        /// Runs in this session. In a transaction it sees what the transaction has written.
        pub fn session(mut self, session: &'a mut mongodb::ClientSession) -> Self {
            self.$($path).+.session = Some(session);
            self
        }

        /// How long the whole call may take, however many commands it needs; without a limit if not set.
        ///
        /// It counts from the first poll, of a stream too. Each command tells the server how much is left. One that
        /// gets no reply is given up a quarter of a second after the deadline. The call then ends with
        /// [`ErrorKind::TimedOut`](crate::ErrorKind::TimedOut).
        pub fn deadline(mut self, deadline: std::time::Duration) -> Self {
            self.$($path).+.terms.deadline = Some(deadline);
            self
        }

        /// How long the server may work on each command (`maxTimeMS`), on all batches of a cursor together;
        /// without a limit if not set. [`ErrorKind::TimedOut`](crate::ErrorKind::TimedOut) says that it took
        /// longer.
        pub fn max_time(mut self, max_time: std::time::Duration) -> Self {
            self.$($path).+.terms.max_time = Some(max_time);
            self
        }

        /// The read concern of each command, instead of that of the `Database` that the handle was made from.
        ///
        /// A transaction has its own, and so has a session that reads a snapshot: there this is
        /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument), and nothing is sent.
        pub fn read_concern(mut self, concern: impl Into<mongodb::options::ReadConcern>) -> Self {
            self.$($path).+.terms.concern = Some(concern.into());
            self
        }

        /// The members of a replica set that may answer (a `ReadPreference` or a `SelectionCriteria`), instead of
        /// those of the `Database` that the handle was made from.
        ///
        /// Secondaries lag the primary by different amounts, and each command of a call chooses a member anew. A transaction
        /// has its own: there this is [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument), and
        /// nothing is sent.
        pub fn read_preference(
            mut self,
            preference: impl Into<mongodb::options::SelectionCriteria>,
        ) -> Self {
            self.$($path).+.terms.criteria = Some(preference.into());
            self
        }
    };
}

pub(crate) use read_setters;
