use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", text))]
    volume_ml: Option<i32>,
}

fn large() -> bucket_mongo::AttributeFilter {
    Bottle::specs().volume().ml().gte(500)
}

fn main() {}
