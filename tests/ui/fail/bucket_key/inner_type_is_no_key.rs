use bucket_mongo::BucketKey;

#[derive(Debug, Clone, BucketKey)]
struct Price(f64);

impl PartialEq for Price {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Price {}

impl std::hash::Hash for Price {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

fn main() {}
