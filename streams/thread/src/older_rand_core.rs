//! The traits of rand_core 0.9 and 0.6, each behind its feature.

use crate::PseudoRng;

macro_rules! words_and_bytes {
    () => {
        #[inline]
        fn next_u32(&mut self) -> u32 {
            rand_core::Rng::next_u32(self)
        }

        #[inline]
        fn next_u64(&mut self) -> u64 {
            rand_core::Rng::next_u64(self)
        }

        #[inline]
        fn fill_bytes(&mut self, destination: &mut [u8]) {
            rand_core::Rng::fill_bytes(self, destination);
        }
    };
}

#[cfg(feature = "rand_core_09")]
impl rand_core_09::RngCore for PseudoRng {
    words_and_bytes!();
}

#[cfg(feature = "rand_core_06")]
impl rand_core_06::RngCore for PseudoRng {
    words_and_bytes!();

    #[inline]
    fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), rand_core_06::Error> {
        rand_core::Rng::fill_bytes(self, destination);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::PseudoRng;

    macro_rules! assert_version {
        ($version:ident) => {
            use $version::RngCore;
            assert_ne!(RngCore::next_u64(&mut PseudoRng), PseudoRng.next_u64());
            assert_ne!(
                u64::from(RngCore::next_u32(&mut PseudoRng)),
                PseudoRng.u64()
            );
            let mut bytes = [0; 32];
            RngCore::fill_bytes(&mut PseudoRng, &mut bytes);
            assert_ne!(bytes, [0; 32]);
        };
    }

    #[test]
    #[cfg(feature = "rand_core_09")]
    fn it_has_the_trait_of_rand_core_09() {
        assert_version!(rand_core_09);
    }

    #[test]
    #[cfg(feature = "rand_core_06")]
    fn it_has_the_trait_of_rand_core_06() {
        assert_version!(rand_core_06);
    }
}
