//! The task of a tail.

use std::convert::Infallible;

use bucket_core::{Record, watch::Queue};

use super::{channel::Sender, newest::Newest};
use crate::{Error, Result, action::watch::watching::Watching};

/// The task of a tail: from the server to the queue of the reader.
pub(super) struct Tailing<T: Record> {
    pub(super) newest: Newest<T>,
    pub(super) watching: Watching<T>,
    pub(super) sender: Sender<T>,
    /// The queue for what follows the newest records.
    pub(super) following: Queue<T, Error>,
}

impl<T: Record> Tailing<T> {
    /// Ends with an error.
    pub(super) async fn run(self) {
        let Self {
            newest,
            mut watching,
            sender,
            following,
        } = self;
        let Err(error) = tail(&newest, &mut watching, &sender, following).await;
        sender.end(error);
    }
}

async fn tail<T: Record>(
    newest: &Newest<T>,
    watching: &mut Watching<T>,
    sender: &Sender<T>,
    following: Queue<T, Error>,
) -> Result<Infallible> {
    let mut done = 0;
    loop {
        let before = done;
        let Err(error) = newest.send(&mut done, sender).await else {
            break;
        };
        if done > before {
            watching.went_on();
        }
        watching.pause_read(error).await?;
    }
    sender.go_on_with(following).await;
    loop {
        if let (Some(event), _) = watching.next().await? {
            sender.send(event).await;
        }
    }
}
