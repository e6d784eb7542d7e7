//! What a read was asked for beside its arguments.

use mongodb::ClientSession;
use tokio::time::Instant;

use super::terms::Terms;
use crate::{
    Error, ErrorKind, Result,
    error::{Context, ReadFault},
    writer::{LONGEST_DEADLINE, is_in_transaction, reads_a_snapshot},
};

/// The session and the terms of a call.
#[derive(Debug, Default)]
pub(crate) struct ReadOptions<'a> {
    pub(crate) session: Option<&'a mut ClientSession>,
    pub(crate) terms: Terms,
}

impl<'a> ReadOptions<'a> {
    /// The same in this session, if there is one.
    pub(crate) fn in_moment<'m>(self, moment: Option<&'m mut ClientSession>) -> ReadOptions<'m>
    where
        'a: 'm,
    {
        let own = self.session.map(|session| -> &'m mut _ { session });
        ReadOptions {
            session: moment.or(own),
            terms: self.terms,
        }
    }
}

impl ReadOptions<'_> {
    /// Before the first command: starts the clock, and refuses terms that the session cannot have. Of no effect
    /// after that.
    pub(crate) async fn begin(&mut self, context: &Context) -> Result<()> {
        if !self.terms.begin() {
            return Ok(());
        }
        let has_own = self.terms.concern.is_some() || self.terms.criteria.is_some();
        let Some(session) = self.session.as_deref_mut().filter(|_| has_own) else {
            return Ok(());
        };
        let refused = |message: &str| {
            let message = message.to_owned();
            Err(Error::new(ErrorKind::InvalidArgument { message }, context))
        };
        // The driver gives up its choice of a server before that.
        let until = self.terms.until();
        let until = until.unwrap_or_else(|| Instant::now() + LONGEST_DEADLINE);
        match is_in_transaction(session, until).await {
            Err(_) => Err(Error::read(ReadFault::Late, context)),
            Ok(true) => refused(
                "a transaction has one read concern and one read preference: set them where it is started",
            ),
            Ok(false)
                if self.terms.has_concern_but_snapshot() && reads_a_snapshot(session).await =>
            {
                refused("a session that reads a snapshot has no other read concern")
            }
            Ok(false) => Ok(()),
        }
    }

    /// The same for a part of the call.
    pub(crate) fn lend(&mut self) -> ReadOptions<'_> {
        ReadOptions {
            session: self.session.as_deref_mut(),
            terms: self.terms.clone(),
        }
    }
}
