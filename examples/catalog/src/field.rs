//! The attributes of a product by the names of their fields.

use bucket_mongo::attribute::Attribute;

use crate::model::Product;

/// An attribute that conditions can name.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) attribute: Typed,
}

/// The attribute of a field, by the type of its values.
#[derive(Clone, Copy)]
pub(crate) enum Typed {
    Whole(fn() -> Attribute<i32>),
    Number(fn() -> Attribute<f64>),
    Text(fn() -> Attribute<String>),
}

use Typed::{Number, Text, Whole};

/// In the order of the struct.
const FIELDS: [Field; 13] = [
    field("volume_ml", Whole(|| Product::specs().volume().ml())),
    field("height_cm", Whole(|| Product::specs().height().cm())),
    field("width_cm", Whole(|| Product::specs().width().cm())),
    field("depth_cm", Whole(|| Product::specs().depth().cm())),
    field("weight_g", Whole(|| Product::specs().weight().g())),
    field("power_w", Whole(|| Product::specs().power().w())),
    field("memory_gb", Whole(|| Product::specs().memory().gb())),
    field(
        "screen_inches",
        Number(|| Product::specs().screen().inches()),
    ),
    field("pages", Whole(|| Product::specs().pages())),
    field("color", Text(|| Product::specs().color())),
    field("size", Text(|| Product::specs().size())),
    field("material", Text(|| Product::specs().material())),
    field(
        "warranty_months",
        Whole(|| Product::specs().warranty().months()),
    ),
];

const fn field(name: &'static str, attribute: Typed) -> Field {
    Field { name, attribute }
}

/// The field of this name; an unknown name gives the list of all.
pub(crate) fn named(name: &str) -> Result<&'static Field, String> {
    let fields: &'static [Field] = &FIELDS;
    let found = fields.iter().find(|field| field.name == name);
    found.ok_or_else(|| names().collect::<Vec<_>>().join(", "))
}

/// The names of all fields.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|field| field.name)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn every_attribute_of_the_struct_is_listed() {
        let [specs] = Product::SPEC.arrays() else {
            panic!("one array")
        };
        let fields = specs.fields.iter().map(|field| field.name);
        assert_eq!(fields.collect::<Vec<_>>(), names().collect::<Vec<_>>());
    }
}
