//! Histories: commands drawn from a seed, sent to both, and made smaller where they differ.

use std::{
    env,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use bucket_mongo::{
    bson::{Bson, Document},
    mongodb::Database,
};
use bucket_tests::{database, faults::random::Random};

use super::{
    compare::{Difference, Pair},
    subject::Subject,
};

/// The number of histories of each subject, however long they take.
const HISTORIES: u64 = 10;
const SEED: u64 = 1;

pub(crate) fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

pub(crate) fn seed() -> u64 {
    variable("BUCKET_MODEL_SEED").unwrap_or(SEED)
}

/// The minimum time for trying histories.
pub(crate) fn duration() -> Duration {
    Duration::from_secs_f64(variable("BUCKET_MODEL_SECONDS").unwrap_or(0.0))
}

/// Tries histories of a subject until the time is over.
pub(crate) async fn run(subject: Subject) {
    let database = database().await;
    let begun = Instant::now();
    let (mut commands, mut skipped, mut number) = (0, 0, 0);
    while begun.elapsed() < duration() || number < HISTORIES {
        let mut random = Random::new(seed(), 1_000_000 * subject as u64 + number);
        let history = subject.draw(&mut random);
        match play(&database, &history).await {
            Ok(it) => skipped += it,
            Err((_, difference)) => {
                let (history, difference) = shrink(&database, history, difference).await;
                report(subject, number, &history, &difference);
            }
        }
        commands += history.len();
        number += 1;
    }
    eprintln!(
        "{subject:?}: {number} histories, {commands} commands, {skipped} unknown to the model"
    );
    assert!(
        skipped * 4 < commands,
        "the model knows too little of {subject:?}"
    );
}

fn report(subject: Subject, number: u64, history: &[Document], difference: &Difference) -> ! {
    let commands: Vec<String> = history
        .iter()
        .map(|it| Bson::Document(it.clone()).to_string())
        .collect();
    panic!(
        "{subject:?}, history {number} of BUCKET_MODEL_SEED={}\n{}\nserver: {}\nmodel:  {}",
        seed(),
        commands.join("\n"),
        difference.server,
        difference.model,
    );
}

/// Sends a history to a new collection of both; returns how many commands the model did not know.
async fn play(database: &Database, history: &[Document]) -> Result<usize, (usize, Difference)> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("c{number}");
    let mut pair = Pair::new(database, name.clone(), number);
    let mut result = Ok(());
    for (at, command) in history.iter().enumerate() {
        let is_read = command.contains_key("find");
        let command = with_session(command);
        result = pair.run(&command).await.map(drop).map_err(|it| (at, it));
        if result.is_ok() && !is_read {
            result = pair.compare_documents().await.map_err(|it| (at, it));
        }
        if result.is_err() {
            break;
        }
    }
    result.map(|()| pair.skipped)
}

/// The ids of sessions as the protocol has them.
fn with_session(command: &Document) -> Document {
    let mut command = command.clone();
    if let Ok(session) = command.get_document_mut("lsid") {
        let number = u8::try_from(session.get_i32("id").unwrap()).unwrap();
        session.insert("id", super::compare::uuid_of(&[number; 16]));
    }
    command
}

/// Removes commands and statements as long as both still differ.
async fn shrink(
    database: &Database,
    mut history: Vec<Document>,
    mut difference: Difference,
) -> (Vec<Document>, Difference) {
    loop {
        let mut smaller = None;
        for candidate in candidates(&history) {
            if let Err((at, it)) = play(database, &candidate).await {
                smaller = Some((candidate[..=at].to_vec(), it));
                break;
            }
        }
        match smaller {
            Some((candidate, it)) => (history, difference) = (candidate, it),
            None => return (history, difference),
        }
    }
}

fn candidates(history: &[Document]) -> Vec<Vec<Document>> {
    let mut all = Vec::new();
    for size in [history.len() / 2, history.len() / 4, 1] {
        if size == 0 {
            continue;
        }
        for from in (0..history.len()).step_by(size) {
            let mut candidate = history.to_vec();
            candidate.drain(from..(from + size).min(history.len()));
            if !candidate.is_empty() {
                all.push(candidate);
            }
        }
    }
    for (at, command) in history.iter().enumerate() {
        for smaller in without_one(command) {
            let mut candidate = history.to_vec();
            candidate[at] = smaller;
            all.push(candidate);
        }
    }
    all
}

/// The command without one of its statements, or without a field of one of them.
fn without_one(command: &Document) -> Vec<Document> {
    let mut all = Vec::new();
    for list in ["updates", "documents", "deletes"] {
        let Ok(statements) = command.get_array(list) else {
            continue;
        };
        for at in 0..statements.len() {
            if statements.len() > 1 {
                let mut fewer = statements.clone();
                fewer.remove(at);
                let mut smaller = command.clone();
                smaller.insert(list, fewer);
                all.push(smaller);
            }
            let statement = statements[at].as_document().unwrap();
            for path in [
                &["q"][..],
                &["u"],
                &["u", "$set"],
                &["u", "$inc"],
                &["u", "$push"],
            ] {
                let part = path
                    .iter()
                    .try_fold(statement, |part, name| part.get_document(name));
                let Ok(part) = part else { continue };
                for name in part.keys().filter(|_| part.len() > 1) {
                    let mut smaller = command.clone();
                    let mut part = smaller.get_array_mut(list).unwrap()[at]
                        .as_document_mut()
                        .unwrap();
                    for name in path {
                        part = part.get_document_mut(name).unwrap();
                    }
                    part.remove(name);
                    all.push(smaller);
                }
            }
        }
    }
    all
}
