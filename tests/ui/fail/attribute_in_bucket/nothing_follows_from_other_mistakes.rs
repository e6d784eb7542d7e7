use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", capacity = 0)]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "origin", k = "x", u = "ml", factor = 1))]
    x: Option<i32>,
    #[bucket(attribute(array = "origin", k = "x", u = "l", factor = 1000))]
    y: Option<i32>,
}

fn uses(scan: &Scan) -> (Option<f64>, bucket_mongo::bson::Document) {
    (scan.x_in_ml(), Scan::origin().x().ml().gte(5).into())
}

fn main() {}
