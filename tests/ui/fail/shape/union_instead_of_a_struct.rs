use bucket_mongo::Bucketed;

#[derive(Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
union Trade {
    customer_id: i64,
    date: i64,
}

impl serde::Serialize for Trade {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        unimplemented!()
    }
}

fn main() {}
