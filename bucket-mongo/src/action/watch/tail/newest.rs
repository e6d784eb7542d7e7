//! The newest records at one moment of the server.

use bucket_core::{Record, WatchEvent};
use futures_util::{StreamExt, stream};
use mongodb::{
    ClientSession,
    bson::{DateTime, Timestamp},
    options::{ReadConcern, SessionOptions},
};

use super::channel::Sender;
use crate::{
    Buckets, Error, Result,
    action::latest::newest_in_buckets,
    error::Context,
    read::{ReadOptions, SIDE_BY_SIDE},
};

pub(super) const OPERATION: &str = "tail";

/// A read of the newest records of a key, or of all keys, at one moment of the server.
pub(super) struct Newest<T: Record> {
    pub(super) buckets: Buckets<T>,
    pub(super) key: Option<T::Key>,
    /// How many of each key.
    pub(super) number: usize,
    pub(super) moment: Timestamp,
    /// The time of the events.
    pub(super) now: DateTime,
}

impl<T: Record> Newest<T> {
    /// Sends them, except those of the keys that are `done`, which it counts. The order of the keys is always the
    /// same: in a session, the keys are read one after the other.
    pub(super) async fn send(&self, done: &mut usize, to: &Sender<T>) -> Result<()> {
        if self.number == 0 {
            return Ok(());
        }
        let mut session = self.session().await?;
        let keys = if let Some(key) = &self.key {
            stream::iter([Ok(key.clone())]).left_stream()
        } else {
            let keys = self.buckets.keys().session(&mut session);
            keys.read_concern(ReadConcern::snapshot())
                .stream()
                .right_stream()
        };
        let of_keys = keys.skip(*done).map(async |key| self.of_key(key?).await);
        let mut of_keys = of_keys.buffered(SIDE_BY_SIDE).boxed();
        while let Some(events) = of_keys.next().await {
            match events {
                Ok(events) => {
                    for event in events {
                        to.send(Ok(event)).await;
                    }
                }
                Err(error) if error.is_damaged() => to.send(Err(error)).await,
                Err(error) => return Err(error),
            }
            *done += 1;
        }
        Ok(())
    }

    /// The events of the newest records of a key, the newest last.
    async fn of_key(&self, key: T::Key) -> Result<Vec<WatchEvent<T>>> {
        let mut session = self.session().await?;
        let mut options = ReadOptions {
            session: Some(&mut session),
            ..ReadOptions::default()
        };
        // The driver keeps the level that the client has, and a moment goes with this one only.
        options.terms.concern = Some(ReadConcern::snapshot());
        let newest = newest_in_buckets(&self.buckets, OPERATION, key, self.number, options).await?;
        let events = newest.into_iter().rev();
        Ok(events
            .map(|stored| WatchEvent::of_stored(stored, self.now))
            .collect())
    }

    /// A session that reads the moment.
    async fn session(&self) -> Result<ClientSession> {
        let options = SessionOptions::builder()
            .snapshot(true)
            .snapshot_time(self.moment)
            .build();
        let client = self.buckets.database().client();
        let session = client.start_session().with_options(options).await;
        session.map_err(|error| Error::read(error, &Context::of_all::<T>(OPERATION)))
    }
}
