//! Units of measure, in English and Chinese: what kind of quantity each of them measures, and its worth in the base of that kind.

/// Kind, and its units with their worth. Prices are not converted: each currency is a kind of its own. A degree Fahrenheit is the
/// one unit that is not a multiple; its worth is 0.
#[rustfmt::skip]
const KINDS: &[(&str, &str)] = &[
    ("length", "mm .001 cm .01 m 1 meter 1 metre 1 km 1e3 kilometer 1e3 kilometre 1e3 mile 1609.344 ft .3048 \
        feet .3048 inch .0254 inches .0254 毫米 .001 厘米 .01 米 1 公里 1e3 千米 1e3 英里 1609.344 英尺 .3048 英寸 .0254"),
    ("time", "ms .001 millisecond .001 s 1 sec 1 second 1 min 60 minute 60 h 3600 hr 3600 hour 3600 day 86400 \
        week 604800 month 2629800 year 31557600 毫秒 .001 秒 1 分 60 分钟 60 小时 3600 天 86400 周 604800 个月 2629800"),
    ("size", "byte 1 kb 1e3 mb 1e6 gb 1e9 tb 1e12 kib 1024 mib 1048576 gib 1073741824 kilobyte 1e3 megabyte 1e6 \
        gigabyte 1e9 terabyte 1e12 字节 1"),
    ("weight", "mg 1e-6 g .001 gram .001 kg 1 kilogram 1 tonne 1e3 lb .45359237 pound .45359237 oz .0283495 \
        ounce .0283495 毫克 1e-6 克 .001 千克 1 公斤 1 斤 .5 吨 1e3"),
    ("volume", "ml .001 l 1 liter 1 litre 1 gallon 3.785411784 pint .473176473 毫升 .001 升 1"),
    ("speed", "km/h 1 kmh 1 kph 1 m/s 3.6 mph 1.609344 knot 1.852"),
    ("usd", "$ 1 usd 1 dollar 1 美元 1"),
    ("eur", "€ 1 eur 1 euro 1 欧元 1"),
    ("gbp", "£ 1 gbp 1 英镑 1"),
    ("cny", "¥ 1 cny 1 yuan 1 rmb 1 元 1 人民币 1"),
    ("temperature", "c 1 celsius 1 ℃ 1 摄氏度 1 f 0 fahrenheit 0 ℉ 0 华氏度 0"),
];

/// Each unit: its name, its kind, and its worth.
pub fn units() -> impl Iterator<Item = (&'static str, &'static str, f64)> {
    KINDS.iter().flat_map(|(kind, table)| {
        let (names, worths) = (table.split(' ').step_by(2), table.split(' ').skip(1).step_by(2));
        names.zip(worths).map(|(name, worth)| (name, *kind, worth.parse().unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_has_a_worth() {
        for (kind, table) in KINDS {
            let fields: Vec<&str> = table.split(' ').collect();
            assert_eq!(fields.len() % 2, 0, "{kind}");
            assert!(fields.iter().skip(1).step_by(2).all(|worth| worth.parse::<f64>().is_ok()), "{kind}");
        }
        assert!(units().any(|unit| unit == ("公里", "length", 1_000.0)));
    }
}
