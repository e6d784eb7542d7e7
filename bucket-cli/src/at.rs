//! What a command works with: the buckets of its model, the output, the signals.

#[cfg(feature = "seal")]
use bucket_mongo::Archive;
use bucket_mongo::{
    Bucketed, Buckets,
    mongodb::{Client, Database},
};

use crate::{
    error::Error,
    exit::Outcome,
    out::Out,
    signal::{Signal, Signals},
    text::shell_word,
};

/// What all models of a program share.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    pub(crate) client: Client,
    pub(crate) database: Database,
    #[cfg(feature = "seal")]
    pub(crate) archive: Option<Archive>,
    pub(crate) out: &'a mut Out,
    pub(crate) signals: Signals,
    /// The collections of all models.
    pub(crate) collections: Vec<&'static str>,
    /// The words before the name of a command that runs on the same model again.
    pub(crate) program: Vec<String>,
}

/// A model of a session.
#[derive(Debug)]
pub(crate) struct At<'a, T: Bucketed> {
    pub(crate) client: Client,
    pub(crate) buckets: Buckets<T>,
    #[cfg(feature = "seal")]
    pub(crate) archive: Option<Archive>,
    pub(crate) out: &'a mut Out,
    pub(crate) signals: Signals,
    collections: Vec<&'static str>,
    program: Vec<String>,
}

impl<'a, T: Bucketed> At<'a, T> {
    pub(crate) fn new(session: Session<'a>, buckets: Buckets<T>) -> Self {
        let mut program = session.program;
        program.extend(["--model".to_owned(), T::SPEC.collection().to_owned()]);
        #[cfg(feature = "seal")]
        let buckets = match &session.archive {
            Some(archive) => buckets.with_archive(archive.clone()),
            None => buckets,
        };
        Self {
            client: session.client,
            buckets,
            #[cfg(feature = "seal")]
            archive: session.archive,
            out: session.out,
            signals: session.signals,
            collections: session.collections,
            program,
        }
    }

    /// Whether a collection is that of a model.
    pub(crate) fn is_model(&self, name: &str) -> bool {
        self.collections.contains(&name)
    }

    /// A line for a shell that runs this command on the same model.
    pub(crate) fn line(&self, words: &[String]) -> String {
        let words = self.program.iter().chain(words);
        let words: Vec<String> = words.map(|word| shell_word(word)).collect();
        words.join(" ")
    }

    /// The key that was typed, if one was.
    pub(crate) fn key(words: &[String]) -> Result<Option<T::Key>, Error> {
        if words.is_empty() {
            return Ok(None);
        }
        crate::key::parse::<T>(words).map(Some)
    }
}

/// The end of a change that a signal ended while it was planned.
pub(crate) fn given_up(out: &mut Out, signal: Signal) -> Outcome {
    out.note("nothing was changed: run the same command again");
    Outcome::Interrupted(signal)
}
