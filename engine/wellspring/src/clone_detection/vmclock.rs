//! The page of the hypervisor's clock, which changes before a clone of the machine runs.

use super::layout;
use wellspring_os::descriptor::AsFd;
use wellspring_os::shared_page::SharedPage;

/// The path of the hypervisor's clock in Linux 6.13 and later.
pub const DEFAULT_PATH: &str = "/dev/vmclock0";

/// Maps the page. Also returns the offset of the word that changes when the machine is cloned; on older hypervisors
/// that word also changes when the machine is moved.
pub(super) fn map(device: impl AsFd) -> Option<(SharedPage, usize)> {
    let page = SharedPage::map(device).ok()?;
    let offset = layout::counter(&page).or_else(|| layout::disruption_marker(&page))?;
    Some((page, offset))
}
