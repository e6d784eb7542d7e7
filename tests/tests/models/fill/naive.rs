//! The report by hand, from the stored documents.

use bucket_core::{Form, Record};
use bucket_mongo::{
    FillReport, Limits,
    action::{Amount, CapacityUse, ExpiryReport, SizeClass},
    bson::{Bson, DateTime, Document},
};

/// What the report should be, read at its moment. Only of what no other answer is possible its own value is taken:
/// the moment, and which damaged document it names.
pub(crate) fn naive<T: Record>(
    stored: &[Document],
    found: &FillReport,
    limits: impl Fn(&str) -> Option<Limits>,
) -> FillReport {
    let spec = T::SPEC;
    let mut report = FillReport::default();
    let mut expiry = found.expiry.clone().map(Due::cleared);
    let (mut records, mut bytes, mut percent) = (Vec::new(), Vec::new(), Vec::new());
    let mut parts: Vec<f64> = Vec::new();
    let (mut places, mut used) = (0, 0);
    // The moment matters for windows, none of which ends in the middle of a test.
    let now = DateTime::now();
    for one in stored {
        let size = one.to_vec().unwrap().len() as u64;
        let Some(bucket) = Sound::read::<T>(one) else {
            report.damaged += 1;
            report.damaged_bytes += size;
            continue;
        };
        let is_count = matches!(spec.form(), Form::Count { .. });
        if is_count && bucket.items == 0 {
            report.empty += 1;
            continue;
        }
        let limits = one.get_str("device").ok().and_then(&limits);
        let capacity = Sound::capacity::<T>(one, limits);
        let amount = amount(1, bucket.items - bucket.removed, size);
        report.buckets += 1;
        report.records += amount.records;
        report.removed += bucket.removed;
        report.bytes += size;
        let is_full = bucket.is_full::<T>(one, capacity);
        let is_over = matches!(spec.form(), Form::Window { .. })
            && one.get_datetime(spec.names().end).unwrap() <= &now;
        let state = match (is_full, is_over) {
            (true, _) => &mut report.full,
            (false, true) => &mut report.over,
            (false, false) => &mut report.open,
        };
        add(state, amount);
        records.push(amount.records);
        bytes.push(size);
        if let Some(capacity) = capacity {
            places += capacity;
            used += bucket.items;
            parts.push(bucket.items as f64 / capacity as f64);
            percent.push(match bucket.items {
                items if items > capacity => 101,
                items => items * 100 / capacity,
            });
        }
        if let Some(expiry) = &mut expiry {
            let is_closed = is_full || matches!(spec.form(), Form::Window { .. });
            let Due { report, steps } = expiry;
            due::<T>(one, is_closed, amount, report, steps);
        }
    }
    report.damaged_example.clone_from(&found.damaged_example);
    assert_eq!(report.damaged > 0, report.damaged_example.is_some());
    let doubling = |first: u64| (0..40).map(move |power| first << power);
    report.by_records = classes(&records, &doubling(1).take(18).collect::<Vec<_>>());
    report.by_bytes = classes(&bytes, &doubling(256).take(17).collect::<Vec<_>>());
    let tenths: Vec<u64> = (1..=10).map(|tenth| tenth * 10).chain([101]).collect();
    let least = parts.iter().copied().reduce(f64::min);
    let most = parts.iter().copied().reduce(f64::max);
    report.capacity = found.capacity.clone().map(|mut of: CapacityUse| {
        (of.places, of.used) = (places, used);
        (of.least, of.most) = (least.unwrap(), most.unwrap());
        of.by_percent = classes(&percent, &tenths);
        of
    });
    assert_eq!(report.capacity.is_some(), !parts.is_empty());
    assert_eq!(expiry.is_some(), spec.expire_after().is_some());
    report.expiry = expiry.map(Due::finish);
    report
}

fn amount(buckets: u64, records: u64, bytes: u64) -> Amount {
    let mut amount = Amount::default();
    (amount.buckets, amount.records, amount.bytes) = (buckets, records, bytes);
    amount
}

fn add(sum: &mut Amount, more: Amount) {
    sum.buckets += more.buckets;
    sum.records += more.records;
    sum.bytes += more.bytes;
}

/// A bucket whose numbers can be believed.
struct Sound {
    items: u64,
    removed: u64,
}

impl Sound {
    fn read<T: Record>(one: &Document) -> Option<Self> {
        let spec = T::SPEC;
        let names = spec.names();
        let items = one.get_array(spec.items()).ok()?;
        let count = bucket_core::whole::field(one, names.count)?;
        if u64::try_from(count).ok()? != items.len() as u64 {
            return None;
        }
        let marks = items.iter().filter(|item| {
            let item = item.as_document();
            item.is_some_and(|item| item.get_bool("_removed").unwrap_or(false))
        });
        let marks = marks.count() as u64;
        let edits = one.get_document("_edits").ok();
        let removed = edits.and_then(|edits| edits.get("removed"));
        if removed
            .is_some_and(|removed| bucket_core::whole::of(removed) != i64::try_from(marks).ok())
        {
            return None;
        }
        let is_date = |name: &str| one.get_datetime(name).is_ok();
        match spec.form() {
            Form::Window { .. } | Form::Hybrid { .. }
                if !(is_date(names.start) && is_date(names.end)) =>
            {
                return None;
            }
            Form::Hybrid { .. } if one.get_bool(names.closed).is_err() => return None,
            Form::Numbered { .. } if one.get_bool(names.full).is_err() => return None,
            Form::Numbered { .. } => {
                let size = bucket_core::whole::field(one, names.size);
                size.filter(|size| *size > 0)?;
            }
            _ => {}
        }
        if spec.max_bytes().is_some() && matches!(one.get(names.bytes), Some(Bson::String(_))) {
            return None;
        }
        Some(Self {
            items: items.len() as u64,
            removed: marks,
        })
    }

    fn capacity<T: Record>(one: &Document, limits: Option<Limits>) -> Option<u64> {
        let own = match T::SPEC.form() {
            Form::Numbered { .. } => bucket_core::whole::field(one, T::SPEC.names().size),
            _ => T::SPEC.capacity().map(i64::from),
        };
        let own = own.map(i64::unsigned_abs);
        match limits {
            Some(limits) if limits == Limits::new().capacity(2) => Some(2),
            Some(limits) if limits == Limits::new().capacity(9) => Some(9),
            _ => own,
        }
    }

    fn is_full<T: Record>(&self, one: &Document, capacity: Option<u64>) -> bool {
        let spec = T::SPEC;
        let names = spec.names();
        let by_bytes = spec.max_bytes().is_some_and(|max| {
            let bytes = bucket_core::whole::field(one, names.bytes);
            bytes.is_none_or(|bytes| bytes >= i64::from(max))
        });
        match spec.form() {
            Form::Hybrid { .. } => one.get_bool(names.closed).unwrap(),
            Form::Numbered { .. } => one.get_bool(names.full).unwrap(),
            Form::Count { capacity } => {
                let least = spec.raised_from().unwrap_or(capacity).min(capacity);
                self.items >= u64::from(least) || by_bytes
            }
            Form::Window { parts: true, .. } => true,
            _ => self.items >= capacity.unwrap_or(100_000) || by_bytes,
        }
    }
}

/// The classes that begin at 0 and at these bounds.
fn classes(values: &[u64], bounds: &[u64]) -> Vec<SizeClass> {
    let mut all = Vec::new();
    let mut from = 0;
    for to in bounds.iter().map(Some).chain([None]) {
        let is_in = |value: &&u64| **value >= from && to.is_none_or(|to| *value < to);
        let buckets = values.iter().filter(is_in).count() as u64;
        all.push((from, to.map(|to| to - 1), buckets));
        from = to.copied().unwrap_or_default();
    }
    let first = all.iter().position(|(.., buckets)| *buckets > 0);
    let last = all.iter().rposition(|(.., buckets)| *buckets > 0);
    let used = match first.zip(last) {
        Some((first, last)) => &all[first..=last],
        None => &[],
    };
    let class = |(from, to, buckets): &(u64, Option<u64>, u64)| {
        let mut class = SizeClass::default();
        (class.from, class.to, class.buckets) = (*from, *to, *buckets);
        class
    };
    used.iter().map(class).collect()
}

/// What goes when.
struct Due {
    report: ExpiryReport,
    steps: Vec<Amount>,
}

impl Due {
    /// Everything of this report but the amounts.
    fn cleared(mut report: ExpiryReport) -> Self {
        for amount in [
            &mut report.overdue,
            &mut report.later,
            &mut report.open,
            &mut report.hidden,
            &mut report.undated,
        ] {
            *amount = Amount::default();
        }
        let steps = vec![Amount::default(); 60];
        Self { report, steps }
    }

    fn finish(mut self) -> ExpiryReport {
        let used = self.steps.iter().rposition(|of| of.buckets > 0);
        self.steps.truncate(used.map_or(0, |last| last + 1));
        assert_eq!(self.steps.len(), self.report.steps.len());
        for (step, amount) in self.report.steps.iter_mut().zip(self.steps) {
            step.removed = amount;
        }
        self.report
    }
}

fn due<T: Record>(
    one: &Document,
    is_closed: bool,
    amount: Amount,
    report: &mut ExpiryReport,
    steps: &mut [Amount],
) {
    let names = T::SPEC.names();
    let date = match T::SPEC.form() {
        Form::Window { .. } | Form::Hybrid { .. } => names.end,
        _ => names.expire_from,
    };
    let Ok(date) = one.get_datetime(date) else {
        return add(&mut report.undated, amount);
    };
    let left = date.timestamp_millis() + i64::from(report.expire_after) * 1_000
        - report.at.timestamp_millis();
    let step = i64::from(report.step) * 1_000;
    let sum = match (left <= 0, is_closed) {
        (true, true) => &mut report.overdue,
        (true, false) => &mut report.hidden,
        (false, false) => &mut report.open,
        (false, true) => {
            let passed = usize::try_from((left + step - 1) / step - 1).unwrap();
            steps.get_mut(passed).unwrap_or(&mut report.later)
        }
    };
    add(sum, amount);
}
