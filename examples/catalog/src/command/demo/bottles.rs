//! The manual's bottles: with text as on its page, then with numbers.

use std::io::Write;

use bucket_mongo::{
    Attributed as _, Documents,
    bson::{doc, serialize_to_document},
    mongodb::Database,
};
use example_kit::{Error, print};
use serde::Serialize;

use super::store;
use crate::{
    manual,
    model::{Bottle, ManualBottle},
    query::{query, show},
};

pub(super) async fn tell(database: &Database, out: &mut impl Write) -> Result<(), Error> {
    to_the_letter(&ManualBottle::documents(database), out).await?;
    with_numbers(&Bottle::documents(database), out).await
}

async fn to_the_letter(
    bottles: &Documents<ManualBottle>,
    out: &mut impl Write,
) -> Result<(), Error> {
    writeln!(
        out,
        "the manual's bottle, as on its page. Its values are text, and '1000' sorts before '8': the\n\
         filters of such an attribute have `eq` and no `gte` (`let specs = ManualBottle::specs()`)\n"
    )?;
    store(bottles, &[manual::bottle()], out).await?;
    let specs = ManualBottle::specs();
    show(bottles, query!(specs.volume().ml().eq(500)), line, out).await
}

async fn with_numbers(bottles: &Documents<Bottle>, out: &mut impl Write) -> Result<(), Error> {
    writeln!(out, "bottles whose values are numbers\n")?;
    store(bottles, &manual::bottles(), out).await?;
    writeln!(
        out,
        "each query as the line of Rust, the filter that it makes, the structs that it finds, and what\n\
         `explain` says (`let specs = Bottle::specs()`)\n"
    )?;
    let specs = Bottle::specs();
    for query in [
        query!(specs.volume().ml().gte(500)),
        query!(specs.height().inches().lt(9)),
        query!(
            specs
                .volume()
                .ml()
                .gte(500)
                .and(specs.height().inches().lt(9))
        ),
        query!(specs.volume().any_unit().lte(25)),
        query!(specs.volume().in_ml().gte(500)),
    ] {
        show(bottles, query, line, out).await?;
    }
    pitfall(bottles, out).await
}

/// What the same conditions, written by hand without `$elemMatch`, find.
async fn pitfall(bottles: &Documents<Bottle>, out: &mut impl Write) -> Result<(), Error> {
    let by_hand = doc! { "specs.k": "volume", "specs.u": "ml", "specs.v": { "$gte": 500 } };
    let right = bottles.find(Bottle::specs().volume().ml().gte(500)).await?;
    writeln!(
        out,
        "by hand, without `$elemMatch`\n  {}",
        print::fitted(&by_hand, 1)
    )?;
    for bottle in bottles.find(by_hand).await? {
        let wrong = if right.contains(&bottle) {
            ""
        } else {
            "  <- wrong"
        };
        writeln!(out, "  -> {}{wrong}", line(&bottle))?;
    }
    writeln!(
        out,
        "  one entry is a volume in ml, and another one, the weight, is 500 or more. One\n\
         \x20 entry must meet all conditions that the builder makes\n"
    )?;
    Ok(())
}

/// The fields of the struct.
fn line(bottle: &impl Serialize) -> String {
    // A struct serializes as a document.
    print::line(&serialize_to_document(bottle).unwrap_or_default())
}
