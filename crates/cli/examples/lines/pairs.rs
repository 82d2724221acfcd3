//! Few combinations of options in which every two values meet.

use std::collections::BTreeSet;

/// A value of each parameter, by its number. 0 is the usual one.
pub(super) type Row = Vec<usize>;

/// Rows in which every two values of two parameters are together at least once, if they may be: all pairs instead of all products, of
/// which there would be millions. `counts` are the numbers of values of the parameters.
///
/// Greedy: each row begins with a pair that no row has yet, and takes for every other parameter the value that makes most new pairs. The
/// same parameters give the same rows.
pub(super) fn cover(counts: &[usize], mut is_allowed: impl FnMut(&Row) -> bool) -> Vec<Row> {
    let mut left = all_pairs(counts);
    let mut rows = Vec::new();
    while let Some((first, second)) = left.pop_first() {
        let mut row = vec![0; counts.len()];
        row[first.0] = first.1;
        row[second.0] = second.1;
        if !is_allowed(&row) {
            continue;
        }
        let mut chosen = vec![first, second];
        for (parameter, &count) in counts.iter().enumerate() {
            if parameter == first.0 || parameter == second.0 {
                continue;
            }
            let value = best_value(parameter, count, &chosen, &left, |value| {
                let mut with = row.clone();
                with[parameter] = value;
                is_allowed(&with)
            });
            row[parameter] = value;
            chosen.push((parameter, value));
        }
        chosen.sort_unstable();
        for (index, one) in chosen.iter().enumerate() {
            for other in &chosen[index + 1..] {
                left.remove(&(*one, *other));
            }
        }
        rows.push(row);
    }
    rows
}

/// A parameter and the number of a value of it.
type Value = (usize, usize);

/// Two values that are to meet, the one of the earlier parameter first.
type Pairs = BTreeSet<(Value, Value)>;

fn all_pairs(counts: &[usize]) -> Pairs {
    let mut pairs = Pairs::new();
    for (second, &seconds) in counts.iter().enumerate() {
        for (first, &firsts) in counts[..second].iter().enumerate() {
            for value in 0..firsts {
                for other in 0..seconds {
                    pairs.insert(((first, value), (second, other)));
                }
            }
        }
    }
    pairs
}

/// The value of a parameter that makes most new pairs with the `chosen` values, if it is allowed with them.
fn best_value(
    parameter: usize,
    count: usize,
    chosen: &[Value],
    left: &Pairs,
    mut is_allowed: impl FnMut(usize) -> bool,
) -> usize {
    let (mut best, mut most) = (0, new_pairs((parameter, 0), chosen, left));
    for value in 1..count {
        let new = new_pairs((parameter, value), chosen, left);
        if new > most && is_allowed(value) {
            (best, most) = (value, new);
        }
    }
    best
}

fn new_pairs(value: Value, chosen: &[Value], left: &Pairs) -> usize {
    let is_new = |other: &&Value| {
        let pair = if value < **other {
            (value, **other)
        } else {
            (**other, value)
        };
        left.contains(&pair)
    };
    chosen.iter().filter(is_new).count()
}
