//! The documents of the manual's page "Group Data with the Attribute Pattern", and a few more of
//! the same kind, so that queries have something to leave out.

use std::collections::BTreeMap;

use bucket_mongo::bson::DateTime;

use crate::model::{Bottle, ManualBottle, Movie};

/// The page's bottle, exactly.
pub(crate) fn bottle() -> ManualBottle {
    ManualBottle {
        id: 1,
        volume_ml: Some(500),
        volume_ounces: Some(12),
        height_inches: Some(8),
    }
}

/// The page's bottle with numbers, and three others.
pub(crate) fn bottles() -> [Bottle; 4] {
    let bottle = |id, volume_ml, volume_ounces, height_inches, weight_g| Bottle {
        id,
        volume_ml,
        volume_ounces,
        height_inches,
        weight_g,
    };
    [
        bottle(1, Some(500.0), Some(12.0), Some(8), None),
        bottle(2, Some(330.0), None, Some(7), Some(520)),
        bottle(3, Some(1000.0), None, Some(13), Some(640)),
        bottle(4, None, Some(25.0), Some(9), None),
    ]
}

/// The page's movie, and two others.
pub(crate) fn movies() -> [Movie; 3] {
    // 1977-05-20, 1977-10-19, 1977-10-20 and 1977-12-27, all at T01:00:00+01:00
    let star_wars = [232_934_400, 246_067_200, 246_153_600, 252_028_800];
    let [us, france, italy, uk] = star_wars.map(|seconds| Some(at(seconds)));
    [
        Movie {
            release_us: us,
            release_france: france,
            release_italy: italy,
            release_uk: uk,
            ..movie(1, "Star Wars", 121, "George Lucas")
        },
        Movie {
            // 1975-06-20, 1975-12-26
            release_us: Some(at(172_454_400)),
            release_uk: Some(at(188_784_000)),
            ..movie(2, "Jaws", 124, "Steven Spielberg")
        },
        Movie {
            // 2002-09-20, 2002-04-10, 2001-07-20
            release_us: Some(at(1_032_480_000)),
            release_france: Some(at(1_018_396_800)),
            elsewhere: BTreeMap::from([("Japan".to_owned(), at(995_587_200))]),
            ..movie(3, "Spirited Away", 125, "Hayao Miyazaki")
        },
    ]
}

fn movie(id: i32, title: &str, runtime: i32, director: &str) -> Movie {
    Movie {
        id,
        title: title.to_owned(),
        runtime,
        directors: vec![director.to_owned()],
        release_us: None,
        release_france: None,
        release_italy: None,
        release_uk: None,
        elsewhere: BTreeMap::new(),
    }
}

fn at(seconds: i64) -> DateTime {
    DateTime::from_millis(seconds * 1000)
}
