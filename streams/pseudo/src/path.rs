//! The path of a stream, as text and as a value.

use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

/// The most elements a [`Path`] holds.
pub const MAX_DEPTH: usize = 32;

/// The place of a stream in the tree of streams under a seed: numbers from the root, such as job,
/// partition and task.
///
/// As text the elements are decimal numbers with slashes between them, `3/0/17`; the root is `/`.
/// Empty text is an error: otherwise an unset variable in a script would make all tasks read the same
/// stream.
///
/// An element is below 2^32. NumPy breaks a larger one in two, so that different paths name one
/// stream. Write a larger number as two elements, the lower half first.
///
/// ```
/// use wellspring_pseudo::Path;
///
/// let path: Path = "3/0/17".parse()?;
/// assert_eq!(*path, [3, 0, 17]);
/// assert_eq!(path.to_string(), "3/0/17");
/// # Ok::<(), wellspring_pseudo::PathError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Path {
    // Zero from `depth` on: the derived comparison looks at all of them.
    elements: [u32; MAX_DEPTH],
    depth: usize,
}

impl Path {
    /// The path without elements.
    pub const ROOT: Path = Path {
        elements: [0; MAX_DEPTH],
        depth: 0,
    };

    /// The path with these elements.
    ///
    /// # Errors
    ///
    /// [`PathError::TooDeep`] if there are more than [`MAX_DEPTH`].
    pub fn new(elements: &[u32]) -> Result<Self, PathError> {
        let mut path = Self::ROOT;
        for &element in elements {
            path.push(element)?;
        }
        Ok(path)
    }

    /// Appends an element.
    ///
    /// # Errors
    ///
    /// [`PathError::TooDeep`] if there are [`MAX_DEPTH`] already; the path is then left as it was.
    pub fn push(&mut self, element: u32) -> Result<(), PathError> {
        let place = self
            .elements
            .get_mut(self.depth)
            .ok_or(PathError::TooDeep)?;
        *place = element;
        self.depth += 1;
        Ok(())
    }
}

impl Deref for Path {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.elements[..self.depth]
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("/");
        }
        for (i, element) in self.iter().enumerate() {
            let separator = if i == 0 { "" } else { "/" };
            write!(f, "{separator}{element}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({self})")
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        match text {
            "" => return Err(PathError::Empty),
            "/" => return Ok(Self::ROOT),
            _ => (),
        }
        let mut path = Self::ROOT;
        for digits in text.split('/') {
            let element = path.depth + 1;
            // `u32::from_str` accepts a plus sign.
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(PathError::NotANumber { element });
            }
            let number = digits
                .parse()
                .map_err(|_| PathError::TooLarge { element })?;
            path.push(number)?;
        }
        Ok(path)
    }
}

/// The reason why a text or a list of numbers is not a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The text is empty.
    Empty,
    /// An element is empty or has a character other than 0 to 9.
    NotANumber {
        /// Which one, counted from 1.
        element: usize,
    },
    /// An element is 2^32 or above.
    TooLarge {
        /// Which one, counted from 1.
        element: usize,
    },
    /// There are more than [`MAX_DEPTH`] elements.
    TooDeep,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the path is empty; the root is written /"),
            Self::NotANumber { element } => {
                write!(f, "element {element} of the path is not a decimal number")
            }
            Self::TooLarge { element } => {
                write!(f, "element {element} of the path is above {}", u32::MAX)
            }
            Self::TooDeep => write!(f, "the path has more than {MAX_DEPTH} elements"),
        }
    }
}

impl core::error::Error for PathError {}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_that_is_not_a_path_is_refused_for_the_right_reason() {
        let error = |text: &str| text.parse::<Path>().unwrap_err();
        assert_eq!(error(""), PathError::Empty);
        for (text, element) in [
            ("//", 1),
            ("/3", 1),
            ("3/", 2),
            ("3//0", 2),
            ("+3", 1),
            ("-3", 1),
            ("3/0x1", 2),
            (" 3", 1),
            ("3/1e3", 2),
            ("3/٣", 2),
        ] {
            assert_eq!(error(text), PathError::NotANumber { element }, "{text:?}");
        }
        assert_eq!(error("0/4294967296"), PathError::TooLarge { element: 2 });
        assert_eq!(
            error("99999999999999999999999"),
            PathError::TooLarge { element: 1 }
        );
    }

    #[test]
    fn the_deepest_path_is_read_and_a_deeper_one_refused() {
        let deepest = vec!["7"; MAX_DEPTH].join("/");
        assert_eq!(*deepest.parse::<Path>().unwrap(), [7; MAX_DEPTH]);
        let deeper = deepest + "/7";
        assert_eq!(deeper.parse::<Path>(), Err(PathError::TooDeep));
        assert_eq!(Path::new(&[7; MAX_DEPTH + 1]), Err(PathError::TooDeep));
    }

    #[test]
    fn the_root_is_not_its_first_child() {
        assert_eq!("/".parse(), Ok(Path::ROOT));
        assert_ne!("0".parse(), Ok(Path::ROOT));
        assert_eq!(Path::ROOT.to_string(), "/");
    }

    #[test]
    fn an_error_says_which_element_is_wrong() {
        let message = "3/4294967296".parse::<Path>().unwrap_err().to_string();
        assert_eq!(message, "element 2 of the path is above 4294967295");
    }

    proptest! {
        #[test]
        fn a_path_is_read_back_from_its_text(elements in prop::collection::vec(any::<u32>(), 0..=MAX_DEPTH)) {
            let path = Path::new(&elements).unwrap();
            prop_assert_eq!(&*path, &elements[..]);
            prop_assert_eq!(path.to_string().parse(), Ok(path));
        }

        #[test]
        fn any_text_is_a_path_or_an_error(text in "[0-9/+ x]{0,80}") {
            if let Ok(path) = text.parse::<Path>() {
                prop_assert_eq!(path.to_string().parse(), Ok(path));
            }
        }
    }
}
