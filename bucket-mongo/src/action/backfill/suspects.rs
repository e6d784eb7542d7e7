//! Which records the server refuses: they are tried in transactions that are aborted.
//!
//! The server refuses a statement, which brings many records. Halves of them are tried until each refused one is by itself. If
//! all go through then, the server refuses some only together with others, such as two with one value of a unique index. Then
//! the first records that go through are as many as possible, and the one after them is refused. Each search finds a record,
//! so it ends.

use std::collections::BTreeSet;

use bucket_core::Record;
use serde::de::DeserializeOwned;

use super::{
    storing::Storing,
    verdict::{Verdict, is_of_record},
};
use crate::{Error, Result};

impl<T: Record + DeserializeOwned> Storing<'_, T> {
    /// The records that are refused by themselves, of those that were refused together.
    pub(super) async fn culprits(
        &mut self,
        records: &[T],
        suspects: Vec<usize>,
    ) -> Result<Vec<(usize, String)>> {
        let known: BTreeSet<usize> = suspects.iter().copied().collect();
        let mut others: Vec<usize> = (0..records.len())
            .filter(|at| !known.contains(at))
            .collect();
        let (mut culprits, mut groups) = (Vec::new(), vec![suspects]);
        // How many go through, by themselves or together, and the last refusal that says nothing about its record.
        let (mut through, mut last) = (0, None);
        loop {
            let Some(group) = groups.pop() else {
                match &last {
                    // The server may refuse everything, whatever it is: no disk is left, or a quota is used up.
                    Some(_) if through == 0 && !others.is_empty() => {
                        groups.push(std::mem::take(&mut others));
                        continue;
                    }
                    _ => break,
                }
            };
            if group.is_empty() {
                continue;
            }
            let some: Vec<&T> = group.iter().filter_map(|at| records.get(*at)).collect();
            let Some(error) = self.refusal(&some).await? else {
                through += group.len();
                continue;
            };
            if let [one] = group.as_slice() {
                if is_of_record(&error) {
                    through += 1;
                } else {
                    last = Some(error.clone());
                }
                culprits.push((*one, error.kind().to_string()));
                continue;
            }
            let (first, second) = group.split_at(group.len() / 2);
            groups.extend([second.to_vec(), first.to_vec()]);
        }
        match last {
            Some(error) if through == 0 => Err(error),
            _ => Ok(culprits),
        }
    }

    /// The first record that is refused after those before it, which go through together.
    pub(super) async fn first_refused(&mut self, records: &[T]) -> Result<Option<(usize, String)>> {
        let all: Vec<&T> = records.iter().collect();
        let Some(mut error) = self.refusal(&all).await? else {
            return Ok(None);
        };
        let (mut go_through, mut refused) = (0, all.len());
        while refused - go_through > 1 {
            let middle = go_through + (refused - go_through) / 2;
            match self.refusal(all.get(..middle).unwrap_or_default()).await? {
                Some(of_these) => (refused, error) = (middle, of_these),
                None => go_through = middle,
            }
        }
        let reason = format!(
            "it is refused together with those before it: {}",
            error.kind()
        );
        Ok(refused.checked_sub(1).map(|at| (at, reason)))
    }

    /// Why the server refuses these records together; nothing of them is stored.
    async fn refusal(&mut self, records: &[&T]) -> Result<Option<Error>> {
        loop {
            let tried = {
                let mut begun = self.begin().await?;
                let tried = begun.insert(records).await;
                begun.give_up().await;
                tried
            };
            match tried {
                Ok(Verdict::Stored(_)) => return Ok(None),
                Ok(Verdict::Refused(_, error)) => return Ok(Some(error)),
                Err(error) => self.again(error).await?,
            }
        }
    }
}
