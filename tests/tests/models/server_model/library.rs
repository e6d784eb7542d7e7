//! The commands that the library's write machine generates, for every form: writers run against the
//! model, and the server gets the same commands.

use std::time::Instant;

use bucket_core::{
    Limits, Record, index,
    read::FindPlan,
    write::{Batch, Certainty, Need, Round},
};
use bucket_mongo::bson::{DateTime, Document, RawDocumentBuf, doc};
use bucket_tests::{
    database,
    faults::{random::Random, sample::Sample},
};

use super::{
    compare::{Difference, Pair},
    draw::Draw,
    history::{duration, seed},
};

/// The clock of the writers.
const NOW: DateTime = DateTime::from_millis(4_000);
/// The forms of `Sample`.
const FORMS: usize = 29;

macro_rules! forms {
    ($draw:ident, $pair:ident, $form:ident: $($number:literal)*) => {
        match $form {
            $($number => history::<$number>($draw, $pair).await,)*
            other => panic!("no form {other}"),
        }
    };
}

pub(crate) async fn every_form() {
    let database = database().await;
    let begun = Instant::now();
    let (mut number, mut commands) = (0, 0);
    while begun.elapsed() < duration() || number < FORMS {
        let form = number % FORMS;
        let mut random = Random::new(seed(), 900_000_000 + number as u64);
        let draw = &mut Draw(&mut random);
        let pair = &mut Pair::new(&database, format!("form_{number}"), number);
        let result: Result<usize, Difference> = forms!(draw, pair, form:
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28);
        match result {
            Ok(it) => commands += it,
            Err(it) => panic!(
                "history {number} of form {form}, BUCKET_MODEL_SEED={}\n{}\nserver: {}\nmodel:  {}",
                seed(),
                it.sent,
                it.server,
                it.model
            ),
        }
        assert_eq!(
            pair.skipped, 0,
            "the model does not know what form {form} sends"
        );
        number += 1;
    }
    eprintln!("library: {number} histories, {commands} commands");
}

/// A writer, its rounds in progress, and its next number.
struct Writer<const F: usize> {
    batch: Batch,
    under_way: Vec<Round>,
    session: u8,
    number: i64,
}

async fn history<const F: usize>(
    draw: &mut Draw<'_>,
    pair: &mut Pair<'_>,
) -> Result<usize, Difference> {
    let spec = Sample::<F>::SPEC;
    let definitions: Vec<Document> = index::plan(spec)
        .iter()
        .map(index::IndexPlan::definition)
        .collect();
    pair.run(&doc! { "createIndexes": 1, "indexes": definitions })
        .await?;
    let mut writers: Vec<Writer<F>> = (0..2).map(|session| writer(draw, session)).collect();
    let mut commands = 0;
    while let Some(at) = unfinished(draw, &writers) {
        let writer = &mut writers[at];
        if writer.under_way.is_empty() {
            commands += writer.look(pair).await?;
            let _ = writer.batch.sort_out_late();
            writer.under_way = writer.batch.rounds(None);
            commands += 1;
            assert!(commands < 10_000, "a writer does not end");
            continue;
        }
        let round = writer.under_way.remove(0);
        let mut command = Document::try_from(round.command().body().to_owned()).unwrap();
        writer.number += 1;
        command.insert(
            "lsid",
            doc! { "id": super::compare::uuid_of(&[writer.session; 16]) },
        );
        command.insert("txnNumber", writer.number);
        let mut reply = pair.run(&command).await?;
        if draw.chance(4) {
            // Once more, as if the reply had been lost.
            reply = pair.run(&command).await?;
        }
        let settled = writer.batch.settle(&round, &reply, Certainty::Full);
        assert!(settled.failed.is_empty(), "{:?}", settled.failed);
        commands += 1;
    }
    pair.compare_documents().await?;
    Ok(commands)
}

fn writer<const F: usize>(draw: &mut Draw<'_>, session: u8) -> Writer<F> {
    let mut batch = Batch::of::<Sample<F>>();
    let length = 1 + draw.below(30);
    for index in 0..length {
        let sample = sample::<F>(draw, usize::from(session) * 1_000 + index);
        // Some are refused for their content.
        let _ = batch.push_with(index, &sample, None::<Limits>);
    }
    // Only now: some of them are far older than any limit.
    batch.set_now(NOW);
    Writer {
        batch,
        under_way: Vec::new(),
        session,
        number: 0,
    }
}

fn sample<const F: usize>(draw: &mut Draw<'_>, unique: usize) -> Sample<F> {
    let far = [i64::MIN, i64::MAX, 1_500, -1];
    let at = match draw.below(6) {
        0 => draw.one(&far),
        1 => -i64::try_from(draw.below(4_000)).unwrap(),
        _ => i64::try_from(draw.below(8_000)).unwrap(),
    };
    // Some redelivered ids have the same data.
    let unique = if draw.chance(3) {
        draw.below(10)
    } else {
        unique
    };
    Sample {
        device: draw.below(2).to_string(),
        at: DateTime::from_millis(at),
        unique: i64::try_from(unique).unwrap(),
        value: draw.one(&[0, 1, -5, i64::from(i32::MAX), 1_000_000]),
        level: draw.one(&[
            None,
            Some(0.5),
            Some(-0.0),
            Some(1e6),
            Some(f64::NAN),
            Some(f64::INFINITY),
        ]),
        code: draw.one(&["", "200", "a.b", "$inc", "%"]).to_owned(),
    }
}

/// A writer that still has something to do.
fn unfinished<const F: usize>(draw: &mut Draw<'_>, writers: &[Writer<F>]) -> Option<usize> {
    let mut open: Vec<usize> = (0..writers.len()).collect();
    open.retain(|at| {
        let writer = &writers[*at];
        let needs_more = |chain: &bucket_core::write::Chain| chain.need() != Need::Nothing;
        !writer.under_way.is_empty() || writer.batch.chains().iter().any(needs_more)
    });
    (!open.is_empty()).then(|| draw.one(&open))
}

impl<const F: usize> Writer<F> {
    /// Reads what the chains need.
    async fn look(&mut self, pair: &mut Pair<'_>) -> Result<usize, Difference> {
        let mut commands = 0;
        for at in 0..self.batch.chains().len() {
            let chain = &mut self.batch.chains_mut()[at];
            let need = chain.need();
            if matches!(need, Need::OpenBucket | Need::NewestBucket) {
                commands += 2;
                let open = find(pair, &chain.open_bucket()).await?;
                let newest = match open.first() {
                    None if need == Need::NewestBucket => {
                        find(pair, &chain.newest_bucket()).await?
                    }
                    _ => Vec::new(),
                };
                match (open.first(), newest.first()) {
                    (Some(open), _) => chain.saw(open).unwrap(),
                    (None, Some(newest)) => chain.saw_newest(newest).unwrap(),
                    (None, None) => chain.saw_none_open(),
                }
            }
            while self.batch.chains()[at].need() == Need::Repeats {
                let mut found = Vec::new();
                for plan in self.batch.repeats(at) {
                    found.extend(find(pair, &plan).await?);
                    commands += 1;
                }
                self.batch.saw_repeats(at, &found);
            }
        }
        Ok(commands)
    }
}

async fn find(pair: &mut Pair<'_>, plan: &FindPlan) -> Result<Vec<RawDocumentBuf>, Difference> {
    let command = Document::try_from(plan.single_batch("")).unwrap();
    let reply = pair.run(&command).await?;
    let batch = reply
        .get_document("cursor")
        .map(|cursor| cursor.get_array("firstBatch").unwrap().clone());
    let batch = batch.unwrap_or_default();
    let documents = batch.iter().map(|it| it.as_document().unwrap());
    Ok(documents
        .map(|it| RawDocumentBuf::try_from(it).unwrap())
        .collect())
}
