//! The models: structs of many similar fields, which the derive stores as arrays of attributes.

mod bottle;
mod movie;
mod product;

pub(crate) use self::{
    bottle::{Bottle, ManualBottle},
    movie::Movie,
    product::Product,
};
