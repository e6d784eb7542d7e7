use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
    volume_ml: Option<f64>,
    #[bucket(attribute(array = "specs", k = "volume", u = "l", factor = 1e200))]
    volume_l: Option<f64>,
    #[bucket(attribute(array = "specs", k = "volume", u = "nl", factor = 1e-200))]
    volume_nl: Option<f64>,
}

fn main() {}
