//! What the engine of `verify` says of the buckets at the end.

use bson::{DateTime, RawDocumentBuf, doc};
use bucket_core::check::{Checker, Finding, ProblemKind, Suspicion};

use crate::{
    model::{Disturbed, Model},
    world::World,
};

impl<T: Model> World<'_, T> {
    /// The harmful findings.
    pub(crate) fn verify(&mut self) -> Vec<String> {
        let mut checker = Checker::<T>::new(DateTime::from_millis(self.clock()));
        for document in self.in_order(&checker) {
            checker.take(&document, |_| None);
        }
        checker.end();
        let mut findings = checker.findings();
        let again = checker.suspicions().into_iter();
        findings.extend(again.map(Suspicion::into_finding));
        let disturbed = self.ledger.disturbed;
        findings.retain(|finding| finding.is_harmful() && !is_excused(finding, disturbed));
        findings.iter().map(ToString::to_string).collect()
    }

    /// In the order of the index that the walk follows.
    fn in_order(&self, checker: &Checker<T>) -> Vec<RawDocumentBuf> {
        let find = doc! {
            "find": T::SPEC.collection(), "sort": checker.plan(None).sort, "batchSize": 10_000,
        };
        self.found(&find)
    }
}

/// Whether it follows from what somebody took away: buckets, an index, or the numbers of commands.
fn is_excused(finding: &Finding, disturbed: Disturbed) -> bool {
    let is_taken = disturbed.removed || disturbed.unindexed || disturbed.miscounted;
    is_taken
        && matches!(
            finding.problem.kind(),
            ProblemKind::Gap
                | ProblemKind::OpenBefore
                | ProblemKind::TwoOpen
                | ProblemKind::SamePlace
                | ProblemKind::Position
                | ProblemKind::RepeatedId
        )
}
