use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[bucket(attribute(array = "inner", k = "volume", u = "ml", factor = 1))]
    inner_ml: Option<i32>,
    #[bucket(attribute(array = "inner", k = "volume", u = "ounces", factor = 29.57))]
    inner_ounces: Option<i32>,
    #[bucket(attribute(array = "outer", k = "volume", u = "ml", factor = 1))]
    outer_ml: Option<i32>,
    #[bucket(attribute(array = "outer", k = "volume", u = "ounces", factor = 29.57))]
    outer_ounces: Option<i32>,
}

fn main() {}
