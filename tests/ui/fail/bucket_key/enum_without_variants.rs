use bucket_mongo::BucketKey;

#[derive(Debug, Clone, PartialEq, Eq, Hash, BucketKey)]
enum Side {}

fn main() {}
