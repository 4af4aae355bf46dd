"""What the kernel's driver says of its chips in sysfs, hwmon and procfs. No device is ever opened."""

from ttmem.sources.driver.chips import Driver

__all__ = ["Driver"]
