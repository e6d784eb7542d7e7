//! The program: its arguments, its runtime, its end.

use std::{env, ffi::OsString, path::Path, process::ExitCode, time::Duration};

#[cfg(feature = "seal")]
use bucket_mongo::{Archive, bson::Document, mongodb::Client};
use bucket_mongo::{BucketSpec, Bucketed, Buckets};
use clap::{CommandFactory as _, FromArgMatches as _};
use serde::de::DeserializeOwned;

use crate::{
    at::Session,
    command::{Arguments, Command, Global, completions, man, size},
    connect::{OF_BUCKETS, connect},
    error::Error,
    exit::{FAILED, Outcome, USAGE},
    model::{Adaptor, Model},
    models::{List, Models},
    out::{self, Format, Out},
    secret::Secrets,
    signal::Signals,
};

/// How long to wait until the server has ended the sessions.
const GOODBYE: Duration = Duration::from_secs(2);

/// Runs the command line of these models with the arguments of the process, in a runtime of its own.
///
/// Call it from a `main` that is not async. The [exit codes](crate#exit-codes) tell a script how it ended.
///
/// ```no_run
/// # use bucket_mongo::{Bucketed, bson::DateTime};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize, Bucketed)]
/// # #[bucket(collection = "trades", items = "history", capacity = 10)]
/// # struct Trade { #[bucket(key)] customer_id: i64, #[bucket(time)] date: DateTime }
/// # #[derive(Serialize, Deserialize, Bucketed)]
/// # #[bucket(collection = "readings", items = "readings", window = "1h")]
/// # struct Reading { #[bucket(key)] device: String, #[bucket(time)] at: DateTime, value: f64 }
/// fn main() -> std::process::ExitCode {
///     bucket_cli::run::<(Trade, Reading)>()
/// }
/// ```
#[must_use]
pub fn run<M: Models>() -> ExitCode {
    App::of::<M>().run()
}

/// A command line whose models have settings of their own.
///
/// ```no_run
/// use bucket_cli::App;
/// # use bucket_mongo::{Bucketed, Limits, Window, bson::DateTime};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize, Bucketed)]
/// # #[bucket(collection = "trades", items = "history", capacity = 10)]
/// # struct Trade { #[bucket(key)] customer_id: i64, #[bucket(time)] date: DateTime }
/// # #[derive(Serialize, Deserialize, Bucketed)]
/// # #[bucket(collection = "readings", items = "readings", window = "1h")]
/// # struct Reading { #[bucket(key)] device: String, #[bucket(time)] at: DateTime, value: f64 }
///
/// fn main() -> std::process::ExitCode {
///     App::of::<(Trade,)>()
///         .model_with::<Reading>(|readings| {
///             readings.with_limits(|_device| Limits::new().window(Window::minutes(5)))
///         })
///         .run()
/// }
/// ```
#[derive(Debug)]
pub struct App {
    models: Vec<Box<dyn Model>>,
}

impl App {
    /// The command line of these models, with the handles that `buckets` of each makes.
    ///
    /// ```
    /// # fn f<M: bucket_cli::Models>() -> bucket_cli::App {
    /// bucket_cli::App::of::<M>()
    /// # }
    /// ```
    #[must_use]
    pub fn of<M: Models>() -> Self {
        let mut models = List(Vec::new());
        M::add_to(&mut models);
        Self { models: models.0 }
    }

    /// Adds a model whose handle has other settings, or replaces it: limits by key, a write concern, a longest span. Use those
    /// of the service: `verify` checks buckets against the limits of the handle.
    ///
    /// ```
    /// # use bucket_mongo::Bucketed;
    /// # use serde::de::DeserializeOwned;
    /// # fn f<T: Bucketed + DeserializeOwned>(app: bucket_cli::App) -> bucket_cli::App {
    /// use std::time::Duration;
    ///
    /// app.model_with::<T>(|buckets| buckets.with_deadline(Duration::from_secs(120)))
    /// # }
    /// ```
    #[must_use]
    pub fn model_with<T: Bucketed + DeserializeOwned>(
        mut self,
        settings: impl Fn(Buckets<T>) -> Buckets<T> + 'static,
    ) -> Self {
        let is_it = |spec: &BucketSpec| {
            (spec.collection(), spec.record()) == (T::SPEC.collection(), T::SPEC.record())
        };
        self.models.retain(|model| !is_it(model.spec()));
        self.models.push(Box::new(Adaptor::<T>::with(settings)));
        self
    }

    /// Runs it with the arguments of the process; see [`run`](crate::run).
    ///
    /// ```no_run
    /// # fn f(app: bucket_cli::App) -> std::process::ExitCode {
    /// app.run()
    /// # }
    /// ```
    #[must_use]
    pub fn run(self) -> ExitCode {
        let words: Vec<OsString> = env::args_os().collect();
        let program = name(&words);
        let mut definition = self.definition(&program);
        let parsed = definition.try_get_matches_from_mut(words);
        let arguments = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
        let Arguments { global, command } = match arguments {
            Ok(arguments) => arguments,
            Err(error) => return refuse(&error),
        };
        let mut out = Out::new(global.format(), global.quiet);
        let ended = self.end(global, command, &program, &mut out);
        let ended = ended.and_then(|outcome| match out.flush() {
            // The reader has what it wanted; what the command found is true all the same.
            Err(error) if !error.is_closed_pipe() => Err(error),
            _ => Ok(outcome),
        });
        match ended {
            Ok(outcome) => outcome.into(),
            // The reader has what it wanted, as `head` has.
            Err(error) if error.is_closed_pipe() => Outcome::Done.into(),
            Err(error) => {
                // What came before the error is a result, too.
                let _ = out.flush();
                out.error(&error);
                error.exit_code().into()
            }
        }
    }

    fn end(
        &self,
        global: Global,
        command: Command,
        program: &str,
        out: &mut Out,
    ) -> Result<Outcome, Error> {
        // These need no server.
        match command {
            Command::Size(asked) => return size::run(&asked, out),
            Command::Completions(asked) => {
                return completions::run(&asked, &mut self.definition(program), program, out);
            }
            Command::Man(asked) => return man::run(&asked, self.definition(program), out),
            _ => {}
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Failed(format!("the runtime does not start: {error}")))?;
        let ended = runtime.block_on(self.on_server(global, command, out));
        // What hangs with the server is not waited for.
        runtime.shutdown_background();
        ended
    }

    async fn on_server(
        &self,
        global: Global,
        command: Command,
        out: &mut Out,
    ) -> Result<Outcome, Error> {
        let models = self.chosen(global.model.as_deref(), command.is_for_all())?;
        let Some(uri) = &global.uri else {
            let message = "no server: set MONGODB_URI, or give --uri";
            return Err(Error::Usage(message.to_owned()));
        };
        let (client, of_uri) = connect(uri, OF_BUCKETS).await?;
        let Some(database) = global.database.clone().or(of_uri) else {
            let message = "no database: give --database, or a connection string with one (mongodb://host/NAME)";
            return Err(Error::Usage(message.to_owned()));
        };
        let words = again(&global);
        let signals = Signals::listen();
        let collections: Vec<_> = self
            .models
            .iter()
            .map(|model| model.spec().collection())
            .collect();
        let goes_on = models.len() > 1 && command.is_for_each();
        let mut worst = Outcome::Done;
        for model in models {
            let session = Session {
                database: client.database(&database),
                client: client.clone(),
                #[cfg(feature = "seal")]
                archive: archive(&global, &client, &database),
                out: &mut *out,
                signals: signals.clone(),
                collections: collections.clone(),
                program: words.clone(),
            };
            let running = model.run(session, command.clone());
            let ended = if command.may_end_anywhere() {
                let ended = signals.unless(running).await;
                ended.unwrap_or_else(|signal| Ok(Outcome::Interrupted(signal)))
            } else {
                running.await
            };
            let outcome = match ended {
                // It says nothing of the other models.
                Err(error) if goes_on && !error.is_closed_pipe() && !error.is_of_server() => {
                    out.flush()?;
                    out.error(&error);
                    Outcome::Failed(error.exit_code())
                }
                ended => ended?,
            };
            worst = worst.and(outcome);
            if matches!(outcome, Outcome::Interrupted(_)) {
                break;
            }
        }
        if signals.came().is_none() {
            // A server that hangs would keep what is done.
            let _ = tokio::time::timeout(GOODBYE, client.shutdown()).await;
        }
        Ok(worst)
    }

    /// The models that were asked for: all, if none is named and the command is for all.
    fn chosen(&self, name: Option<&str>, all: bool) -> Result<Vec<&dyn Model>, Error> {
        let mut models: Vec<&dyn Model> = self.models.iter().map(AsRef::as_ref).collect();
        if let Some(name) = name {
            models
                .retain(|model| model.spec().collection() == name || model.spec().record() == name);
        }
        let known = self.names().join(", ");
        match (name, models.len()) {
            (Some(name), 0) => {
                let message = format!("there is no model `{name}`; the models are: {known}");
                Err(Error::Usage(message))
            }
            (None, 2..) if !all => {
                let message = format!("which model? Name it with --model: {known}");
                Err(Error::Usage(message))
            }
            (Some(name), 2..) => {
                let message = format!("`{name}` names several models; use the other name: {known}");
                Err(Error::Usage(message))
            }
            _ => Ok(models),
        }
    }

    fn names(&self) -> Vec<String> {
        let name = |model: &dyn Model| {
            format!("{} ({})", model.spec().collection(), model.spec().record())
        };
        let models = self.models.iter();
        models.map(|model| name(model.as_ref())).collect()
    }

    fn definition(&self, program: &str) -> clap::Command {
        Arguments::command()
            .bin_name(program)
            .display_name(program)
            .after_help(format!("Models: {}", self.names().join(", ")))
    }
}

/// The words that begin a command that works with the same data: the program as it was typed, and where the data is. The
/// connection string may have a password.
fn again(global: &Global) -> Vec<String> {
    let typed = env::args_os().next().unwrap_or_default();
    let mut words = vec![typed.to_string_lossy().into_owned()];
    let mut add = |option: &str, value: Option<&String>| {
        words.extend(
            value
                .into_iter()
                .flat_map(|value| [option.to_owned(), value.clone()]),
        );
    };
    add("--database", global.database.as_ref());
    #[cfg(feature = "seal")]
    {
        add("--archive-database", global.archive_database.as_ref());
        add("--archive-collection", global.archive_collection.as_ref());
    }
    words
}

#[cfg(feature = "seal")]
fn archive(global: &Global, client: &Client, database: &str) -> Option<Archive> {
    let of_archive = client.database(global.archive_database.as_deref().unwrap_or(database));
    match (&global.archive_collection, &global.archive_database) {
        (Some(name), _) => Some(of_archive.collection::<Document>(name).into()),
        (None, Some(_)) => Some(of_archive.into()),
        (None, None) => None,
    }
}

/// The name that the program was started with.
fn name(words: &[OsString]) -> String {
    let first = words.first().map(Path::new);
    let name = first.and_then(Path::file_name);
    name.map_or_else(
        || "bucket-cli".to_owned(),
        |name| {
            let name = name.to_string_lossy();
            name.strip_suffix(".exe").unwrap_or(&name).to_owned()
        },
    )
}

/// Says what is wrong with the command line, or prints the help that was asked for.
fn refuse(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // The output is closed: nobody can read it.
        let _ = error.print();
        return Outcome::Done.into();
    }
    let wants_json = env::args_os().any(|word| word == "--json");
    // Before its blanks change: a password may have some.
    let text = Secrets::of_process().hide(&error.render().to_string());
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let summary = text.split("\n\n").next().unwrap_or_default();
    let summary: Vec<&str> = summary.split_whitespace().collect();
    let summary = match error.kind() {
        clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | clap::error::ErrorKind::MissingSubcommand => "which command? See --help".to_owned(),
        _ => summary.join(" "),
    };
    out::complain("error", &summary, wants_json);
    u8::try_from(error.exit_code())
        .unwrap_or(FAILED)
        .max(USAGE)
        .into()
}

impl Global {
    fn format(&self) -> Format {
        match (self.json, self.csv) {
            (true, _) => Format::Json,
            (false, true) => Format::Csv,
            _ => Format::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use bucket_mongo::bson::DateTime;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "readings", items = "readings", window = "1h")]
    struct Reading {
        #[bucket(key)]
        device: String,
        #[bucket(time)]
        at: DateTime,
    }

    #[test]
    fn a_model_with_settings_replaces_the_one_without() {
        let app = App::of::<(Reading,)>().model_with::<Reading>(|readings| readings);
        assert_eq!(app.names(), ["readings (Reading)"]);
    }
}
