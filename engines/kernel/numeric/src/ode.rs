//! Ordinary differential equations.

/// Advances `y` from `t` by `h` with the classical Runge-Kutta method of fourth order.
pub fn rk4<const N: usize>(f: impl Fn(f64, &[f64; N]) -> [f64; N], t: f64, y: &[f64; N], h: f64) -> [f64; N] {
    let shifted = |k: &[f64; N], by: f64| {
        let mut out = *y;
        out.iter_mut().zip(k).for_each(|(o, k)| *o += by * k);
        out
    };
    let k1 = f(t, y);
    let k2 = f(t + h / 2.0, &shifted(&k1, h / 2.0));
    let k3 = f(t + h / 2.0, &shifted(&k2, h / 2.0));
    let k4 = f(t + h, &shifted(&k3, h));
    let mut out = *y;
    for ((((o, a), b), c), d) in out.iter_mut().zip(k1).zip(k2).zip(k3).zip(k4) {
        *o += h / 6.0 * (a + 2.0 * b + 2.0 * c + d);
    }
    out
}
