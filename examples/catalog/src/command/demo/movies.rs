//! The manual's movies: dates by place. The struct names some of the places.

use std::io::Write;

use bucket_mongo::{
    Attributed as _, Documents,
    bson::{DateTime, Document, doc},
    mongodb::{Database, IndexModel},
};
use example_kit::{Error, print};

use super::store;
use crate::{
    manual,
    model::Movie,
    query::{query, show},
};

/// 1977-06-01T00:00:00Z
const JUNE_1977: DateTime = DateTime::from_millis(233_971_200_000);

pub(super) async fn tell(database: &Database, out: &mut impl Write) -> Result<(), Error> {
    writeln!(
        out,
        "the manual's movie and two others. Entries have field names of their own and no units; `Japan`\n\
         is not a field of the struct but a key of its map\n"
    )?;
    let movies = Movie::documents(database);
    store(&movies, &manual::movies(), out).await?;
    writeln!(out, "(`let releases = Movie::releases()`)\n")?;
    let releases = Movie::releases();
    for query in [
        query!(releases.location("USA").before(JUNE_1977)),
        query!(releases.uk().before(JUNE_1977)),
        query!(releases.location("Japan").exists()),
    ] {
        show(&movies, query, line, out).await?;
    }
    with_the_manuals_index(&movies, out).await
}

/// The manual's index covers the array elements as entire values.
async fn with_the_manuals_index(
    movies: &Documents<Movie>,
    out: &mut impl Write,
) -> Result<(), Error> {
    let collection = movies.collection::<Document>();
    collection.drop_indexes().await?;
    let whole = doc! { "releases": 1 };
    collection
        .create_index(IndexModel::builder().keys(whole.clone()).build())
        .await?;
    writeln!(
        out,
        "the manual's own index, {}, instead of the one from `ensure()`: it holds entire\n\
         entries and cannot look into them\n",
        print::line(&whole)
    )?;
    let releases = Movie::releases();
    let query = query!(releases.location("USA").before(JUNE_1977));
    show(movies, query, line, out).await
}

/// The complete documents are printed above.
fn line(movie: &Movie) -> String {
    format!("{}: {}", movie.id, movie.title)
}
