//! A run: the server, the workloads one after the other, and the outputs.

use std::{fs, io, io::Write, num::NonZero, path::Path, thread::available_parallelism};

use bucket_mongo::mongodb::Database;
use example_kit::{Server, demo, text};

use crate::{
    arena::Arena,
    cli::Arguments,
    contest,
    error::{Error, Result},
    hold_up, key_load,
    output::{json, page, terminal},
    own_server,
    report::{Outcome, Report},
    scale::Scale,
    workload::{self, Workload},
};

/// The name of the program, and the beginning of its database's name.
const APP: &str = "bench";

pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    if arguments.list {
        let mut out = io::stdout();
        write!(out, "{}", terminal::list(workload::ALL))?;
        return Ok(out.flush()?);
    }
    if let Some(limit) = arguments.hold_up {
        let mut out = io::stdout();
        writeln!(out, "{}", hold_up::run(limit, arguments.scale()).await?)?;
        return Ok(out.flush()?);
    }
    if let Some(keys) = arguments.key_load {
        let mut out = io::stdout();
        writeln!(out, "{}", key_load::run(keys, arguments.scale()).await?)?;
        return Ok(out.flush()?);
    }
    check_places(arguments)?;
    let report = match &arguments.from {
        Some(file) => told_again(file, arguments)?,
        None => measured(arguments).await?,
    };
    deliver(&report, arguments)
}

/// The report of an earlier run.
fn told_again(file: &Path, arguments: &Arguments) -> Result<Report> {
    let report = json::read(file)?;
    if !arguments.prints_json() {
        let mut out = io::stdout();
        for outcome in &report.workloads {
            write!(out, "{}", terminal::outcome(outcome))?;
        }
        out.flush()?;
    }
    Ok(report)
}

/// Runs the requested workloads, and shows each as soon as it is done.
async fn measured(arguments: &Arguments) -> Result<Report> {
    Server::run_with(APP, own_server::options(), async |server| {
        measured_on(server, arguments).await
    })
    .await
}

async fn measured_on(server: &Server, arguments: &Arguments) -> Result<Report> {
    let mut report = Report {
        server: server.version().to_owned(),
        own_server: !server.is_lasting(),
        cores: available_parallelism().map_or(1, NonZero::get),
        rounds: arguments.rounds(),
        quick: arguments.scale() == Scale::Quick,
        workloads: Vec::new(),
    };
    // With `--json` on the standard output, only JSON goes there.
    let mut out: Box<dyn Write> = if arguments.prints_json() {
        Box::new(io::stderr())
    } else {
        Box::new(io::stdout())
    };
    let run = async |database: &Database, out: &mut Box<dyn Write>| {
        let arena = Arena::new(database);
        let asked = workload::ALL.iter();
        for workload in asked.filter(|workload| arguments.includes(workload.name)) {
            let outcome = measure(workload, arguments, &arena).await?;
            if !arguments.prints_json() {
                write!(out, "{}", terminal::outcome(&outcome))?;
                out.flush()?;
            }
            report.workloads.push(outcome);
            // A long run that fails must not lose all its results.
            save_json(&report, arguments)?;
        }
        Ok::<_, Error>(())
    };
    demo::on(server, &mut out, run).await?;
    Ok(report)
}

/// Runs a workload, after a small run of the same workload that warms everything up.
async fn measure(workload: &Workload, arguments: &Arguments, arena: &Arena) -> Result<Outcome> {
    if arguments.scale() == Scale::Full {
        contest::hold(&(workload.plan)(Scale::Quick), 1, arena).await?;
    }
    let plan = (workload.plan)(arguments.scale());
    let figures = contest::hold(&plan, arguments.rounds(), arena).await?;
    Ok(Outcome::of(workload, &plan, figures))
}

/// The outputs besides the terminal.
fn deliver(report: &Report, arguments: &Arguments) -> Result<()> {
    if arguments.prints_json() {
        let mut out = io::stdout();
        json::write(report, &mut out)?;
        out.flush()?;
    } else {
        save_json(report, arguments)?;
    }
    if let Some(folder) = &arguments.write_docs {
        for (path, content) in page::files(report) {
            let path = folder.join(path);
            save(&path, content.as_bytes())?;
            text::complain(&format!("wrote {}", path.display()));
        }
    }
    Ok(())
}

/// Writes the report into the file for JSON, if one is requested.
fn save_json(report: &Report, arguments: &Arguments) -> Result<()> {
    match &arguments.json {
        Some(file) if !arguments.prints_json() => {
            let mut text = Vec::new();
            json::write(report, &mut text)?;
            save(file, &text)
        }
        _ => Ok(()),
    }
}

/// Checks before a long run that its results can be written.
fn check_places(arguments: &Arguments) -> Result<()> {
    if let Some(file) = &arguments.json
        && !arguments.prints_json()
    {
        check_place(file)?;
    }
    if let Some(folder) = &arguments.write_docs {
        let all = workload::ALL.iter().map(|workload| workload.name);
        let asked = all.filter(|name| arguments.includes(name));
        for path in page::paths(asked) {
            check_place(&folder.join(path))?;
        }
    }
    Ok(())
}

/// An error unless the file can be written; its content does not change.
fn check_place(path: &Path) -> Result<()> {
    let is_new = !path.exists();
    let mut options = fs::OpenOptions::new();
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let opened = folder.and_then(|()| options.create(true).append(true).open(path));
    opened.map_err(|error| Error::File("written", path.to_owned(), error))?;
    if is_new {
        // At worst an empty file remains: it is written at the end.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// Writes a file, and creates its folder if it does not exist.
fn save(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let saved = folder.and_then(|()| fs::write(path, content));
    saved.map_err(|error| Error::File("written", path.to_owned(), error))
}
