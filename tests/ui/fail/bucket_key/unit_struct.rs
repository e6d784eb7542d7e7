use bucket_mongo::BucketKey;

#[derive(Debug, Clone, PartialEq, Eq, Hash, BucketKey)]
struct Customer;

fn main() {}
