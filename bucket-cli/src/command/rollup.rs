//! `rollup`: the statistics of a key step by step, as a table and as a chart.

use bucket_mongo::{
    Bucketed, Interval, Rollup, RollupRow, TimeRange,
    bson::{Bson, DateTime},
    model::AggregateKind,
};
use serde_json::json;

use crate::{
    at::At,
    chart::{Point, Series, terminal},
    error::Error,
    exit::Outcome,
    figures::{Figures, band},
    json,
    key::{KeyWords, document},
    out::Format,
    shell::{self, cell},
    span::Span,
    table::{Table, left, number},
    text,
};

/// Of which records, in which steps.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    key: KeyWords,
    #[command(flatten)]
    span: Span,
    /// The length of a step: 15m, 1h, 1h30m, 7d, day, week, month, quarter, year
    #[arg(long, value_name = "STEP")]
    every: Interval,
    /// The field of the chart, as it is stored; the first with an average, or the number of records
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
}

pub(super) async fn run<T: Bucketed>(at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let key = crate::key::parse::<T>(&asked.key.key)?;
    let shown = document::<T>(&key);
    let field = field::<T>(asked.field.as_deref())?;
    let Some(range) = bounded(&at, &key, asked.span.range()?).await? else {
        at.out.note("the key has no records in this span of time");
        return Ok(Outcome::Done);
    };
    let rollup = at.buckets.rollup(key, range, asked.every.clone()).await?;
    match at.out.format() {
        Format::Json => {
            for row in &rollup {
                let stored = row.to_document().unwrap_or_default();
                at.out.json(&json!({
                    "key": json::object(&shown),
                    "start": json::value(&Bson::DateTime(row.start())),
                    "end": json::value(&Bson::DateTime(row.end())),
                    "records": row.count(),
                    "stats": Figures::of(T::SPEC, &stored, row.count()).json(),
                }))?;
            }
        }
        Format::Csv => at.out.table(&table(&rollup))?,
        Format::Text => {
            let width = at.out.width();
            let title = format!(
                "{}: {} every {}",
                shell::line(&Bson::Document(shown)),
                field.map_or("records", |at| T::SPEC.inputs()[at].name),
                asked.every
            );
            let chart = terminal::draw(&series(title, field, &rollup), width);
            at.out.table(&table(&rollup))?;
            at.out.text("\n")?;
            at.out.text(&chart)?;
        }
    }
    Ok(Outcome::Done)
}

/// The number of the field whose values are drawn.
fn field<T: Bucketed>(name: Option<&str>) -> Result<Option<usize>, Error> {
    let inputs = T::SPEC.inputs();
    let Some(name) = name else {
        let has_sum = |at: &usize| {
            let mut aggregates = T::SPEC.aggregates().iter();
            let kind = AggregateKind::Sum;
            aggregates.any(|one| one.input == *at && one.kind == kind)
        };
        return Ok((0..inputs.len()).find(has_sum));
    };
    let at = inputs
        .iter()
        .position(|input| input.name == name || input.field == name);
    if at.is_some() {
        return Ok(at);
    }
    let names: Vec<&str> = inputs.iter().map(|input| input.name).collect();
    Err(Error::Usage(format!(
        "no aggregate is about `{name}`; those of `{}` are about: {}",
        T::SPEC.collection(),
        names.join(", ")
    )))
}

/// The span with two sides: an open one is that of the records. `None` without records.
///
/// The statistics know it: the first and the last record in a read may be late ones, and of expired records only the statistics
/// are left.
async fn bounded<T: Bucketed>(
    at: &At<'_, T>,
    key: &T::Key,
    range: TimeRange,
) -> Result<Option<TimeRange>, Error> {
    if range.start().is_some() && range.end().is_some() {
        return Ok(Some(range));
    }
    // Of a range without sides, nobody needs to know the times.
    let start = range.start().unwrap_or(DateTime::MIN);
    let end = range.end().unwrap_or(DateTime::MAX);
    let stats = at.buckets.stats(key.clone(), start..end).await?;
    let reach = stats.and_then(|stats| stats.reach());
    Ok(reach.map(|(first, last)| {
        // The end of a span is excluded.
        let after = DateTime::from_millis(last.timestamp_millis().saturating_add(1));
        let start = range.start().unwrap_or(first);
        TimeRange::new(Some(start), Some(range.end().unwrap_or(after)))
    }))
}

fn table<T: Bucketed>(rollup: &Rollup<T>) -> Table {
    let mut names: Vec<String> = Vec::new();
    let rows: Vec<_> = rollup
        .iter()
        .map(|row| {
            let stored = row.to_document().unwrap_or_default();
            (row, Figures::of(T::SPEC, &stored, row.count()))
        })
        .collect();
    for (name, _) in rows.iter().flat_map(|(_, figures)| figures.values()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let first = ["start", "records"].map(ToOwned::to_owned);
    let mut table = Table::new(first.into_iter().chain(names.iter().cloned()));
    for (row, figures) in rows {
        let mut cells = vec![left(text::short_date(row.start())), number(row.count())];
        for name in &names {
            let value = figures.values().iter().find(|(of, _)| of == name);
            cells.push(number(
                value.map_or_else(String::new, |(_, value)| cell(value)),
            ));
        }
        table.row(cells);
    }
    table
}

#[allow(clippy::cast_precision_loss, reason = "a place in a picture")]
fn series<T: Bucketed>(title: String, field: Option<usize>, rollup: &Rollup<T>) -> Series {
    let point = |row: &RollupRow<T>| {
        let [min, average, max] = match field {
            Some(at) => {
                let stored = row.to_document().unwrap_or_default();
                band(T::SPEC, at, &stored, row.count())
            }
            None => [None, Some(row.count() as f64), None],
        };
        Point {
            start: row.start(),
            end: row.end(),
            min,
            average,
            max,
            is_filled: false,
        }
    };
    Series {
        title,
        unit: String::new(),
        points: rollup.iter().map(point).collect(),
    }
}
