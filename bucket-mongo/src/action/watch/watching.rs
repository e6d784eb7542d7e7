//! A change stream and what follows from its events, across lost connections and failovers.

use std::collections::VecDeque;

use bucket_core::{
    DamagedBucket, Record, WatchEvent,
    watch::{CatchUp, Follow, Placed, Position, Taken},
};
use mongodb::{bson::RawDocumentBuf, change_stream::ChangeStream};
use tokio::time::{Instant, sleep};

use super::{
    catching_up::CatchingUp,
    server::{Server, may_go_on, raw_token},
};
use crate::{Buckets, Error, ErrorKind, Result, backoff, error::Context, trace};

/// The longest pause before another attempt, in milliseconds.
const PAUSE: u64 = 500;

/// An event, and the place after it if there is one.
type Ready<T> = (
    std::result::Result<WatchEvent<T>, DamagedBucket>,
    Option<Position>,
);

/// A watch in progress.
pub(super) struct Watching<T: Record> {
    server: Server<T>,
    /// What is stored already, until all of it is given.
    stored: Option<CatchingUp<T>>,
    follow: Follow<T>,
    stream: Option<ChangeStream<RawDocumentBuf>>,
    ready: VecDeque<Ready<T>>,
    /// Since when nothing comes from the server but errors.
    failing: Option<Instant>,
}

impl<T: Record> Watching<T> {
    pub(super) fn new(
        buckets: Buckets<T>,
        context: Context,
        catch_up: Option<CatchUp<T>>,
        follow: Follow<T>,
    ) -> Self {
        Self {
            server: Server { buckets, context },
            stored: catch_up.map(CatchingUp::new),
            follow,
            stream: None,
            ready: VecDeque::new(),
            failing: None,
        }
    }

    /// The place after everything that was given.
    pub(super) fn position(&self) -> Option<&Position> {
        self.stored.is_none().then(|| self.follow.position())
    }

    /// Opens the change stream.
    pub(super) async fn open(&mut self) -> Result<()> {
        while self.stream.is_none() {
            match self.server.opened(&self.follow).await {
                Ok(stream) => self.stream = Some(stream),
                Err(error) => self.pause(error).await?,
            }
        }
        Ok(())
    }

    /// The next event, and the place after it; without an event if the server says that nothing has happened.
    pub(super) async fn next(
        &mut self,
    ) -> Result<(Option<Result<WatchEvent<T>>>, Option<Position>)> {
        loop {
            if let Some((event, position)) = self.ready.pop_front() {
                let event = event.map_err(|damaged| {
                    Error::new(ErrorKind::Damaged(damaged), &self.server.context)
                });
                return Ok((Some(event), position));
            }
            if let Some(stored) = &mut self.stored {
                match stored.next(self.server.buckets.store()).await {
                    Ok(events) => {
                        self.failing = None;
                        match events {
                            None => self.stored = None,
                            Some(events) => self
                                .ready
                                .extend(events.into_iter().map(|event| (event, None))),
                        }
                    }
                    Err(error) => {
                        let error = self.server.read_fault(error, self.follow.position());
                        self.pause(error).await?;
                    }
                }
                continue;
            }
            self.open().await?;
            match self.step().await {
                Ok(is_idle) => {
                    self.failing = None;
                    if is_idle {
                        return Ok((None, Some(self.follow.position().clone())));
                    }
                }
                Err(error) => {
                    self.stream = None;
                    self.pause(error).await?;
                }
            }
        }
    }

    /// Reads the next event of the server, if there is one. Returns whether there is none.
    async fn step(&mut self) -> Result<bool> {
        let Some(stream) = &mut self.stream else {
            return Ok(false);
        };
        let next = stream.next_if_any().await;
        let is_alive = stream.is_alive();
        let token = stream.resume_token();
        let Some(event) = next.map_err(|error| self.server.fault(error, self.follow.position()))?
        else {
            if let Some(token) = token.as_ref().and_then(raw_token) {
                self.follow.idle(&token);
            }
            if !is_alive {
                self.stream = None;
            }
            return Ok(true);
        };
        let mut head = None;
        loop {
            match self.follow.take(&event, head.take()) {
                Taken::Events(events) => {
                    let events = events.into_iter();
                    self.ready = events
                        .map(
                            |Placed {
                                 event, position, ..
                             }| (event, Some(position)),
                        )
                        .collect();
                    return Ok(false);
                }
                Taken::Ask(lookup) => {
                    head = Some(self.server.head(&lookup, self.follow.position()).await?);
                }
                _ => {
                    let message = "the collection was dropped or renamed";
                    return Err(self.server.lost(message, None, self.follow.position()));
                }
            }
        }
    }

    /// The same for an error of another read of the caller, at the same moment.
    pub(super) async fn pause_read(&mut self, error: Error) -> Result<()> {
        let error = self.server.without_history(error, self.follow.position());
        self.pause(error).await
    }

    /// Something has come from the server.
    pub(super) fn went_on(&mut self) {
        self.failing = None;
    }

    /// Waits before the next attempt; the error if there is none.
    async fn pause(&mut self, error: Error) -> Result<()> {
        let failing = *self.failing.get_or_insert_with(Instant::now);
        let is_over = failing.elapsed() >= self.server.buckets.store().deadline();
        if is_over || !may_go_on(&error) {
            return Err(error);
        }
        tracing::debug!(target: trace::READ, code = error.code(), "watch goes on after an error");
        sleep(backoff::spread(PAUSE)).await;
        Ok(())
    }
}
