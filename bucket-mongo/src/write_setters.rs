//! The setters that every write builder has.

/// Generates `session`, `deadline` and `write_concern` for a builder with the fields `session` and
/// `settings`. Each caller provides the documentation.
macro_rules! write_setters {
    (
        $(#[$session:meta])+ session,
        $(#[$deadline:meta])+ deadline,
        $(#[$write_concern:meta])+ write_concern,
    ) => {
        $(#[$session])+
        pub fn session(mut self, session: &'a mut ClientSession) -> Self {
            self.session = Some(session);
            self
        }

        $(#[$deadline])+
        pub fn deadline(mut self, deadline: Duration) -> Self {
            self.settings.deadline = Some(deadline);
            self
        }

        $(#[$write_concern])+
        pub fn write_concern(mut self, write_concern: WriteConcern) -> Self {
            self.settings.write_concern = Some(write_concern);
            self
        }
    };
}

pub(crate) use write_setters;
