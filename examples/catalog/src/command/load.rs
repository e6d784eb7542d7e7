//! `catalog load`: made-up products into a database that stays.

use std::{io::Write, pin::pin, time::Duration};

use bucket_mongo::{Attributed as _, Documents};
use example_kit::{
    Error, Server,
    cli::Format,
    json, progress,
    signal::{Signal, Signals},
    text,
};
use serde_json::json;

use crate::{APP, cli::Amount, form, migration::To, model::Product, numbers, products};

/// How long requests in flight may take to end after a signal.
const GRACE: Duration = Duration::from_secs(5);

pub(super) async fn run(
    amount: Amount,
    to: To,
    format: Format,
    out: &mut impl Write,
) -> Result<(), Error> {
    Server::run(APP, async |server| {
        load(server, amount, to, format, out).await
    })
    .await
}

async fn load(
    server: &Server,
    amount: Amount,
    to: To,
    format: Format,
    out: &mut impl Write,
) -> Result<(), Error> {
    let mut signals = Signals::listen();
    let documents = Product::documents(&server.database());
    let loaded = store_until(&documents, to, amount, &mut signals).await?;
    let collection = documents.spec().collection();
    let place = format!("{}.{collection}", documents.database().name());
    let stored = loaded.stored;
    match format {
        Format::Json => json::print(&json!({ "stored": stored, "collection": place }), out)?,
        Format::Text => writeln!(out, "{} -> `{place}`", text::counted(stored, "product"))?,
    }
    if !server.is_lasting() {
        format.note("MONGODB_URI is not set: the products go away with the development server");
    } else if loaded.stopped.is_some() && format == Format::Text {
        // In JSON the report has the number of stored products.
        format.note(&how_to_go_on(&loaded, amount, to));
    }
    loaded.stopped.map_or(Ok(()), Err)
}

/// The command that loads the rest of the products.
fn how_to_go_on(loaded: &Loaded, amount: Amount, to: To) -> String {
    let unknown = match loaded.unknown {
        0 => String::new(),
        unknown => format!("it is not known whether {unknown} more are stored: check first\n"),
    };
    let form = match to {
        To::Attributes => "",
        To::Fields => " --form fields",
    };
    let left = u64::from(amount.products.unsigned_abs()).saturating_sub(loaded.stored);
    format!("{unknown}to store the rest:\n  {APP} load --products {left}{form}")
}

/// The outcome for the products.
#[derive(Debug, Default)]
struct Loaded {
    stored: u64,
    /// Products that may or may not be stored.
    unknown: usize,
    /// Why the others are not stored, if any are not.
    stopped: Option<Error>,
}

/// Stores products after those that are stored; returns their number.
pub(super) async fn store(
    documents: &Documents<Product>,
    to: To,
    amount: Amount,
) -> Result<u64, Error> {
    // Only output is lost here: a signal ends the program by itself.
    let loaded = store_products(documents, to, amount, None).await?;
    loaded.stopped.map_or(Ok(loaded.stored), Err)
}

/// Stores the products until a signal comes.
async fn store_until(
    documents: &Documents<Product>,
    to: To,
    amount: Amount,
    signals: &mut Signals,
) -> Result<Loaded, Error> {
    store_products(documents, to, amount, Some(signals)).await
}

async fn store_products(
    documents: &Documents<Product>,
    to: To,
    amount: Amount,
    mut signals: Option<&mut Signals>,
) -> Result<Loaded, Error> {
    if to == To::Attributes {
        documents.ensure().await?;
    }
    let first = numbers::take(documents, amount.products).await?;
    let products = products::numbered((0..amount.products).map(|behind| first + behind));
    let bar = progress::records(products.len() as u64);
    let mut loaded = Loaded::default();
    for batch in products.chunks(form::BATCH) {
        let mut storing = pin!(async {
            match to {
                To::Attributes => form::insert(documents, batch, &bar).await,
                To::Fields => form::insert_fields(&documents.collection(), batch, &bar).await,
            }
        });
        let ended = tokio::select! {
            ended = &mut storing => Some(ended),
            signal = first_of(&mut signals) => {
                loaded.stopped = Some(Error::Interrupted(signal));
                tokio::time::timeout(GRACE, &mut storing).await.ok()
            }
        };
        match ended {
            Some(Ok(stored)) => loaded.stored += stored,
            Some(Err(error)) => {
                loaded.unknown = batch.len();
                loaded.stopped.get_or_insert(error);
            }
            None => loaded.unknown = batch.len(),
        }
        if loaded.stopped.is_some() {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(loaded)
}

async fn first_of(signals: &mut Option<&mut Signals>) -> Signal {
    match signals {
        Some(signals) => signals.first().await,
        None => std::future::pending().await,
    }
}
