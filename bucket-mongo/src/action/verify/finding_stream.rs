//! The findings of a `verify`, one by one.

use std::{
    fmt,
    pin::Pin,
    task::{self, Poll},
};

use bucket_core::{Record, check::Finding};
use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, stream};

use super::verifying::Verifying;
use crate::Result;

/// A stream over what is wrong; see [`VerifyQuery::stream`](super::VerifyQuery::stream).
///
/// An error ends it. Dropping it closes its cursor.
#[must_use = "streams do nothing unless polled"]
pub struct FindingStream<'a> {
    findings: BoxStream<'a, Result<Finding>>,
}

impl<'a> FindingStream<'a> {
    pub(super) fn new<T: Record>(verifying: Verifying<'a, T>) -> Self {
        let next = async |mut verifying: Verifying<'a, T>| {
            let next = verifying.next().await?;
            Some((next, verifying))
        };
        Self {
            findings: stream::unfold(verifying, next).fuse().boxed(),
        }
    }
}

impl fmt::Debug for FindingStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FindingStream").finish_non_exhaustive()
    }
}

impl Stream for FindingStream<'_> {
    type Item = Result<Finding>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.findings.poll_next_unpin(cx)
    }
}
