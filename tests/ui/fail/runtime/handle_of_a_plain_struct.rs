use bucket_mongo::{Bucketed, mongodb::Database};

struct Plain;

fn handle(database: &Database) {
    Plain::buckets(database);
    takes_a_record::<Plain>();
}

fn takes_a_record<T: Bucketed>() {}

fn main() {}
