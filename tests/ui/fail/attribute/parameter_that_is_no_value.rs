use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle<V> {
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<V>,
}

fn documents<T: Attributed>() {}

fn main() {
    documents::<Bottle<Vec<u8>>>();
}
