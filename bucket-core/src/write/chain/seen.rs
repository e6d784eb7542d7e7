//! What a chain learns from a read.

use bson::RawDocument;

use super::{
    Chain, Known, Tail,
    state::{Beside, Refused},
};
use crate::{
    bucket::{id::Place, merged::Origins},
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::form::{InWindow, Kind, Late},
};

/// How often a bucket refuses a record that it has room for before it is damaged. Between the look and the statement it may
/// have been removed and opened again, and closed by a removal: under many removals more than once in a row.
const MAX_REFUSALS: u32 = 8;

impl Chain {
    /// Takes the open bucket, or the newest one; its items may be left out.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if its id does not have the model's form, if a field does not have its type, or if
    /// it has refused a record that its count has room for.
    pub fn saw(&mut self, stored: &RawDocument) -> Result<(), DamagedBucket> {
        self.forget_watermark();
        if self.saw_merged(stored)? {
            return Ok(());
        }
        let mut known = self.known(stored)?;
        // Others have gone on: it was a race.
        self.taken
            .take_if(|taken| taken.behind.as_deref() != Some(&known.id));
        // Counts only grow: this bucket was opened after an earlier one with its id had been removed, and the
        // earlier one may be what refused.
        self.refused
            .take_if(|refused| refused.id == known.id && known.count < refused.seen);
        if let Some(refused) = self.refused.as_mut().filter(|it| it.id == known.id) {
            refused.seen = known.count;
        }
        // So at the refusal the bucket held no more than now and should have taken the records.
        let should_have = |refused: &Refused| {
            refused.times >= MAX_REFUSALS
                && refused.id == known.id
                && known.count <= refused.count
                && known.bytes <= refused.bytes
                && !known.sealed
                && (!known.marked || self.kind.is_late())
        };
        if self.refused.as_deref().is_some_and(should_have) {
            let message = format!("its count of {} does not fit its array", known.count);
            let damage = Damage::Refused { message };
            return Err(DamagedBucket::new(printed_id(stored), damage));
        }
        if self.outgrown.as_ref() == Some(&known.id) && self.kind.passes_by() {
            if !self.kind.marks() {
                // It is skipped; the newest one shows which is next.
                return Ok(());
            }
            known.size = known.count;
        }
        self.tail = self.kind.rules().saw(self, known)?;
        Ok(())
    }

    /// Takes the newest bucket, because none is open.
    ///
    /// # Errors
    ///
    /// As [`saw`](Self::saw).
    pub fn saw_newest(&mut self, stored: &RawDocument) -> Result<(), DamagedBucket> {
        self.forget_watermark();
        if self.saw_merged(stored)? {
            return Ok(());
        }
        if self.asks_beside().is_some() {
            let place = self.known(stored)?.place;
            self.saw_beside(Beside::At(place));
            return Ok(());
        }
        if self.kind.identity().is_some() {
            let known = self.known(stored)?;
            let passed_by = self.outgrown.as_ref() == Some(&known.id);
            if passed_by || (self.kind.is_set_aside() && !known.late) {
                // It only shows which sequence number is next.
                self.tail = Tail::Full(known);
                return Ok(());
            }
        }
        // It may have been opened since the read of the open bucket.
        self.saw(stored)
    }

    /// What was seen of the buckets may be newer than what was seen of the source's position: others may have
    /// stored the same records in between.
    pub(super) fn forget_watermark(&mut self) {
        if let Some(watermark) = &mut self.watermark {
            watermark.forget();
        }
    }

    /// Takes a merged bucket, if this is one: it is the newest one of the chain if it has buckets of it.
    fn saw_merged(&mut self, stored: &RawDocument) -> Result<bool, DamagedBucket> {
        let origins = Origins::read(self.spec, stored);
        let origins = origins.map_err(|damage| DamagedBucket::new(printed_id(stored), damage))?;
        let Some(origins) = origins else {
            return Ok(false);
        };
        match self.last_merged(stored, &origins)? {
            Some(known) => self.tail = Tail::Full(known),
            None => self.saw_none_open(),
        }
        Ok(true)
    }

    /// The last bucket of the chain that is merged with others, as if it were still there.
    fn last_merged(
        &self,
        stored: &RawDocument,
        origins: &Origins,
    ) -> Result<Option<Known>, DamagedBucket> {
        let with_time = |start| origins.last_of(Place::at(start, self.spec.id_unit()).time);
        let known = self.known(stored)?;
        let last = match self.kind {
            Kind::Window(InWindow { start, .. }) | Kind::Late(Late { start, .. }) => {
                with_time(start).map(|place| (place, known.start))
            }
            Kind::Hybrid(_) => origins
                .last_origin()
                .map(|(place, origin)| (place, origin.start)),
            // Theirs are not merged.
            Kind::Count(_) | Kind::Numbered(_) => None,
        };
        Ok(last.map(|(place, start)| Known {
            id: self.id(place),
            place,
            start,
            sealed: true,
            ..known
        }))
    }

    pub(super) fn known(&self, stored: &RawDocument) -> Result<Known, DamagedBucket> {
        Known::read(self.spec, &self.prefix, self.kind.size(), stored)
    }

    /// There is no open bucket.
    pub fn saw_none_open(&mut self) {
        self.forget_watermark();
        if self.asks_beside().is_some() {
            return self.saw_beside(Beside::Nothing);
        }
        self.tail = Tail::NoneOpen;
    }

    /// The newest bucket in order must be seen next.
    fn saw_beside(&mut self, beside: Beside) {
        if let Some(taken) = &mut self.taken {
            taken.beside = beside;
        }
        self.tail = Tail::Unknown;
        self.look_behind = true;
    }
}
