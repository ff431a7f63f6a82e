use super::*;
use std::collections::HashSet;

fn uuid(text: &str) -> [u8; 16] {
    let digits: String = text.chars().filter(|&digit| digit != '-').collect();
    u128::from_str_radix(&digits, 16).unwrap().to_be_bytes()
}

#[test]
fn the_layouts_and_texts_are_those_of_the_rfc() {
    // RFC 9562, appendix A.3.
    let random = uuid("919108f7-52d1-3320-5bac-f847db4148a8");
    let id = uuid4_of(random);
    assert_eq!(&*uuid_text(id), "919108f7-52d1-4320-9bac-f847db4148a8");
    // Appendix A.6: rand_a and the first 6 bits of rand_b are our counter.
    let (time_ms, rand_a, rand_b) = (0x017f_22e2_79b0, 0xcc3, 0x18c4_dc0c_0c07_398f_u64);
    let place = time_ms << COUNTER_BITS | rand_a << 6 | rand_b >> 56;
    let id = uuid7_at(place, u128::from(rand_b));
    assert_eq!(&*uuid_text(id), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

#[test]
fn the_layout_and_text_of_a_ulid_are_those_of_its_specification() {
    let id = uuid("01563e3ab5d3d6764c61efb99302bd5b");
    assert_eq!(&*ulid_text(id), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
    assert_eq!(&*ulid_text([255; 16]), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    let value = u128::from_be_bytes(id);
    assert_eq!(ulid_at((value >> 62) as u64, value), id);
    let all: HashSet<char> = (0..32u128)
        .map(|digit| ulid_text(digit.to_be_bytes()).chars().last().unwrap())
        .collect();
    assert_eq!(all, "0123456789ABCDEFGHJKMNPQRSTVWXYZ".chars().collect());
}

#[test]
fn the_digits_of_all_bytes_are_those_of_the_standard_library() {
    for byte in 0..=255u8 {
        let text: Text<8> = hex_text([byte, 0x5a, !byte, byte]);
        assert_eq!(
            &*text,
            format!("{byte:02x}5a{:02x}{byte:02x}", !byte).as_str()
        );
    }
    let mut odd = [0; 10];
    write_hex(&[1, 2, 3, 4, 0xf5], &mut odd);
    assert_eq!(&odd, b"01020304f5");
    assert_eq!(format!("{:>10}|", hex_text::<4, 8>([0; 4])), "  00000000|");
}

#[test]
fn a_clock_that_stands_or_goes_back_does_not_break_the_order() {
    let first = place_after(0, 1000, 7);
    assert_eq!((first >> COUNTER_BITS, first & 0x3_ffff), (1000, 7));
    // The same millisecond, and earlier ones: one more. Never the random start.
    for now_ms in [1000, 999, 0] {
        assert_eq!(place_after(first, now_ms, 0x1_ffff), first + 1);
    }
    assert_eq!(
        place_after(first, 1001, 3) - (first - 7),
        (1 << COUNTER_BITS) + 3
    );
    // An overflow continues in the next millisecond, and stays ahead until the clock comes there.
    let last = (1000 << COUNTER_BITS) + (1 << COUNTER_BITS) - 1;
    let ahead = place_after(last, 1000, 5);
    assert_eq!(ahead, 1001 << COUNTER_BITS);
    assert_eq!(place_after(ahead, 1001, 5), ahead + 1);
}

#[test]
fn every_bit_of_an_identifier_is_fixed_or_changes() {
    const VERSION_AND_VARIANT: u128 = 0xf000_c000_0000_0000_0000;
    // The time hardly changes while this runs, and the first bit of a counter that begins is 0.
    const TIME: u128 = u128::MAX << 80;
    type Make = fn() -> [u8; 16];
    let identifiers: [(Make, u128); 3] = [
        (uuid4, VERSION_AND_VARIANT),
        (uuid7, TIME | VERSION_AND_VARIANT | 1 << 75),
        (ulid, TIME | 1 << 79),
    ];
    for (make, fixed) in identifiers {
        let (mut ones, mut zeros) = (0, 0);
        // A thread begins a counter.
        for _ in 0..200 {
            let id = std::thread::spawn(make).join().unwrap();
            let id = u128::from_be_bytes(id);
            (ones, zeros) = (ones | id, zeros | !id);
        }
        assert_eq!((ones & zeros) | fixed, u128::MAX, "{fixed:x}");
        assert_eq!(ones & zeros & fixed & !TIME, 0, "{fixed:x}");
    }
}

#[test]
fn the_text_of_a_token_is_that_of_rfc_4648() {
    // Section 10.
    assert_eq!(&*base64url_text::<0, 0>([]), "");
    assert_eq!(&*base64url_text::<1, 2>(*b"f"), "Zg");
    assert_eq!(&*base64url_text::<2, 3>(*b"fo"), "Zm8");
    assert_eq!(&*base64url_text::<3, 4>(*b"foo"), "Zm9v");
    assert_eq!(&*base64url_text::<6, 8>(*b"foobar"), "Zm9vYmFy");
    // Table 2: each digit at each of the four places.
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (number, digit) in digits.chars().enumerate() {
        let bytes = (number as u32 * 0x0004_1041).to_be_bytes();
        let text = base64url_text::<3, 4>([bytes[1], bytes[2], bytes[3]]);
        assert!(text.chars().all(|each| each == digit), "{number}: {text}");
    }
}
