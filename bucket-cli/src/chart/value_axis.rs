//! The axis of values: round bounds and ticks.

/// The bounds are ticks.
#[derive(Debug)]
pub(super) struct ValueAxis {
    /// The distance of two ticks.
    step: f64,
    /// The exponent: `step` is 1, 2 or 5 times ten to this power.
    exponent: i32,
    /// The lowest and the highest tick, as multiples of the step.
    low: f64,
    high: f64,
}

/// The approximate number of ticks.
const TICKS: f64 = 5.0;

impl ValueAxis {
    /// The axis for these finite values; none if there are none.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let bounds = |bounds: Option<(f64, f64)>, value: f64| {
            let (low, high) = bounds.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        };
        let (mut low, mut high) = values.fold(None, bounds)?;
        let largest = low.abs().max(high.abs());
        // Smaller differences are rounding errors at this magnitude.
        if high - low <= largest * 1e-12 || largest < 1e-290 {
            let room = if largest < 1e-290 { 1.0 } else { largest * 0.1 };
            (low, high) = (low - room, high + room);
        }
        let rough = (high - low) / TICKS;
        let (step, exponent) = round_step(rough);
        Some(Self {
            step,
            exponent,
            low: (low / step).floor(),
            high: (high / step).ceil(),
        })
    }

    /// The position of a value, from 0 at the lowest tick to 1 at the highest.
    pub(super) fn part(&self, value: f64) -> f64 {
        let part = (value / self.step - self.low) / (self.high - self.low);
        part.clamp(0.0, 1.0)
    }

    /// The number of steps between the lowest and the highest tick.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "about as many as `TICKS`"
    )]
    pub(super) fn steps(&self) -> usize {
        (self.high - self.low) as usize
    }

    /// The ticks from the lowest on, each with its place and its label.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let next = |tick: &f64| (tick + 1.0 <= self.high).then_some(tick + 1.0);
        let ticks = std::iter::successors(Some(self.low), next);
        let largest = self.low.abs().max(self.high.abs()) * self.step;
        // The number of digits from the largest value down to the step.
        let digits = largest.log10().floor() - f64::from(self.exponent);
        let label = |tick: f64| {
            // Zero is not negative.
            let value = tick * self.step + 0.0;
            if (1e-4..1e7).contains(&largest) && self.exponent >= -6 {
                let decimals = usize::try_from(-self.exponent).unwrap_or(0);
                format!("{value:.decimals$}")
            } else {
                let decimals = place(digits);
                format!("{value:.decimals$e}")
            }
        };
        let height = self.high - self.low;
        ticks
            .map(|tick| ((tick - self.low) / height, label(tick)))
            .collect()
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no more digits than a number has"
)]
fn place(digits: f64) -> usize {
    digits.clamp(0.0, 17.0) as usize
}

/// The next larger number that is 1, 2 or 5 times a power of ten, and the power.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the logarithm of a finite number is small"
)]
fn round_step(rough: f64) -> (f64, i32) {
    let exponent = rough.log10().floor() as i32;
    let power = 10_f64.powi(exponent);
    let fitting = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|times| times * power >= rough);
    match fitting {
        Some(times) => (times * power, exponent),
        None => (power * 10.0, exponent + 1),
    }
}
