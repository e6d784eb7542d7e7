//! Made-up products: the same ones in every run, because each follows from its number.

use example_kit::dice::Dice;

use crate::model::Product;

const COLORS: [&str; 12] = [
    "black", "white", "grey", "red", "green", "blue", "yellow", "orange", "brown", "pink", "teal",
    "purple",
];
const SIZES: [&str; 5] = ["extra small", "small", "medium", "large", "extra large"];
const MATERIALS: [&str; 8] = [
    "steel", "glass", "plastic", "oak", "beech", "cotton", "linen", "wool",
];
const SCREENS: [f64; 6] = [5.5, 6.1, 6.7, 13.3, 14.0, 15.6];
const MEMORIES: [i32; 5] = [8, 16, 32, 64, 128];
/// One in this many products is new enough to have a warranty.
const LATE: i32 = 20;

/// The products with these numbers, counted from 1.
pub(crate) fn numbered(ids: impl IntoIterator<Item = i32>) -> Vec<Product> {
    ids.into_iter().map(product).collect()
}

/// Each has four to six attributes.
fn product(id: i32) -> Product {
    let mut maker = Maker {
        dice: Dice::new(u64::from(id.unsigned_abs())),
        is_late: id % LATE == 0,
    };
    let (kind, product) = match maker.dice.roll(8) {
        0 => ("bottle", maker.bottle()),
        1 => ("shirt", maker.shirt()),
        2 => ("lamp", maker.lamp()),
        3 => ("desk", maker.desk()),
        4 => ("laptop", maker.laptop()),
        5 => ("phone", maker.phone()),
        6 => ("book", maker.book()),
        _ => ("kettle", maker.kettle()),
    };
    Product {
        id,
        name: format!("{kind} {id}"),
        ..product
    }
}

/// Makes up the attributes of one product.
struct Maker {
    dice: Dice,
    is_late: bool,
}

impl Maker {
    fn bottle(&mut self) -> Product {
        Product {
            volume_ml: Some(self.number(200, 1_500)),
            height_cm: Some(self.number(12, 30)),
            weight_g: Some(self.number(40, 900)),
            color: self.one_of(&COLORS),
            material: self.one_of(&MATERIALS[..3]),
            ..Product::default()
        }
    }

    fn shirt(&mut self) -> Product {
        Product {
            weight_g: Some(self.number(90, 400)),
            color: self.one_of(&COLORS),
            size: self.one_of(&SIZES),
            material: self.one_of(&MATERIALS[5..]),
            ..Product::default()
        }
    }

    fn lamp(&mut self) -> Product {
        Product {
            height_cm: Some(self.number(15, 180)),
            weight_g: Some(self.number(300, 6_000)),
            power_w: Some(self.number(3, 60)),
            color: self.one_of(&COLORS),
            material: self.one_of(&MATERIALS),
            warranty_months: self.warranty(),
            ..Product::default()
        }
    }

    fn desk(&mut self) -> Product {
        Product {
            height_cm: Some(self.number(65, 80)),
            width_cm: Some(self.number(80, 220)),
            depth_cm: Some(self.number(50, 100)),
            weight_g: Some(self.number(9_000, 60_000)),
            color: self.one_of(&COLORS),
            material: self.one_of(&MATERIALS[..5]),
            ..Product::default()
        }
    }

    fn laptop(&mut self) -> Product {
        Product {
            weight_g: Some(self.number(900, 3_000)),
            power_w: Some(self.number(30, 200)),
            memory_gb: self.one_of(&MEMORIES),
            screen_inches: self.one_of(&SCREENS[3..]),
            color: self.one_of(&COLORS[..3]),
            warranty_months: self.warranty(),
            ..Product::default()
        }
    }

    fn phone(&mut self) -> Product {
        Product {
            weight_g: Some(self.number(120, 260)),
            memory_gb: self.one_of(&MEMORIES),
            screen_inches: self.one_of(&SCREENS[..3]),
            color: self.one_of(&COLORS),
            warranty_months: self.warranty(),
            ..Product::default()
        }
    }

    fn book(&mut self) -> Product {
        Product {
            height_cm: Some(self.number(15, 35)),
            width_cm: Some(self.number(10, 28)),
            weight_g: Some(self.number(80, 2_500)),
            pages: Some(self.number(24, 1_200)),
            ..Product::default()
        }
    }

    fn kettle(&mut self) -> Product {
        Product {
            volume_ml: Some(self.number(500, 2_000)),
            weight_g: Some(self.number(400, 1_800)),
            power_w: Some(self.number(800, 3_000)),
            color: self.one_of(&COLORS),
            material: self.one_of(&MATERIALS[..3]),
            warranty_months: self.warranty(),
            ..Product::default()
        }
    }

    fn warranty(&mut self) -> Option<i32> {
        self.is_late
            .then(|| 6 * (1 + i32::from(self.dice.roll(10))))
    }

    /// A number from a lower bound up to, but not including, an upper one.
    fn number(&mut self, from: u16, to: u16) -> i32 {
        (from + self.dice.roll(to - from)).into()
    }

    fn one_of<V: Copy, O: From<V>>(&mut self, values: &[V]) -> Option<O> {
        // No list here has as many values as a roll has sides.
        let sides = u16::try_from(values.len()).unwrap_or(u16::MAX);
        let value = values.get(usize::from(self.dice.roll(sides)));
        value.copied().map(O::from)
    }
}

#[cfg(test)]
mod tests {
    use bucket_mongo::{
        attribute,
        bson::{Document, serialize_to_document},
    };

    use super::*;

    #[test]
    fn each_product_has_four_to_six_attributes_and_follows_from_its_number() {
        let products = numbered(1..=2_000);
        for product in &products {
            let stored = Document::try_from(attribute::encode(product).unwrap()).unwrap();
            let specs = stored.get_array("specs").unwrap().len();
            assert!((4..=6).contains(&specs), "{stored}");
            // `_id`, `name` and nothing for absent attributes.
            let fields = serialize_to_document(product).unwrap();
            assert_eq!(fields.len(), 2 + specs, "{fields}");
        }
        assert_eq!(numbered(1_500..=1_500), products[1_499..1_500]);
    }
}
