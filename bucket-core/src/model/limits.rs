//! Limits that are only known at run time: per key, instead of the model's.

use super::form::Form;
use crate::{
    error::EncodeError,
    time::window::{MAX_SECONDS, Window},
};

/// The limits of one key's buckets. Unset limits are the model's.
///
/// ```
/// use bucket_core::{Limits, Window};
///
/// let vibration = Limits::new().window(Window::minutes(1)).capacity(1_000);
/// assert_eq!(vibration, Limits::new().capacity(1_000).window(Window::seconds(60)));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct Limits {
    window: Option<Window>,
    capacity: Option<u32>,
    max_duration: Option<u32>,
}

/// The largest capacity: the tutorial's safe maximum, as for the model's own.
pub const MAX_CAPACITY: u32 = 167_767;

impl Limits {
    /// The model's own limits.
    ///
    /// ```
    /// assert_eq!(bucket_core::Limits::new(), bucket_core::Limits::default());
    /// ```
    pub const fn new() -> Self {
        Self {
            window: None,
            capacity: None,
            max_duration: None,
        }
    }

    /// Another window, for models with one.
    ///
    /// ```
    /// # use bucket_core::{Limits, Window};
    /// let half_hours = Limits::new().window(Window::minutes(30));
    /// ```
    pub const fn window(mut self, window: Window) -> Self {
        self.window = Some(window);
        self
    }

    /// Another capacity from 1 to 167,767, for models with a window, a longest duration or bucket
    /// numbers.
    ///
    /// ```
    /// let small = bucket_core::Limits::new().capacity(30);
    /// ```
    pub const fn capacity(mut self, capacity: u32) -> Self {
        self.capacity = Some(capacity);
        self
    }

    /// Another longest duration in seconds, for models with one.
    ///
    /// ```
    /// let short = bucket_core::Limits::new().max_duration(600);
    /// ```
    pub const fn max_duration(mut self, seconds: u32) -> Self {
        self.max_duration = Some(seconds);
        self
    }

    /// The model's form with these limits.
    pub(crate) fn apply(self, form: Form) -> Result<Form, EncodeError> {
        let refused = |message: &str| {
            Err(EncodeError::Limits {
                message: message.to_owned(),
            })
        };
        if self.window.is_some_and(|window| !window.is_valid()) {
            return refused("a window must last from 1 second to 366 days");
        }
        if self
            .capacity
            .is_some_and(|capacity| capacity == 0 || capacity > MAX_CAPACITY)
        {
            return refused("a capacity must be from 1 to 167,767");
        }
        if self
            .max_duration
            .is_some_and(|seconds| seconds == 0 || seconds > MAX_SECONDS)
        {
            return refused("a longest duration must be from 1 second to 366 days");
        }
        let form = form.limited(self.window, self.capacity, self.max_duration);
        form.or_else(refused)
    }
}
