use bucket_mongo::BucketKey;

#[derive(Debug, Clone, PartialEq, Eq, Hash, BucketKey)]
struct Customer {
    id: i64,
}

fn main() {}
