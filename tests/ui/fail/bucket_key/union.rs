use bucket_mongo::BucketKey;

#[derive(Clone, Copy, BucketKey)]
union Side {
    buy: i64,
    sell: i64,
}

fn main() {}
