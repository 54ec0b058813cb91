/*
 * Devices: the ioctl(2) commands of the drivers of GPUs.
 *
 * Stops: commands of any driver, for every program that was given no device. A program that was
 * given some reaches their drivers' commands, and no others: which files it can open, files.c says.
 * What a driver does with a command is the driver's to judge.
 *
 * Needs: Linux 4.14, for seccomp, which sees the command and not the file. From 6.10 (Landlock ABI
 * 5) the kernel also refuses commands to every device that was not given; below that it holds that
 * only the files of --ro and --rw can be opened, and none of those takes a command that is listed.
 */
#include "launcher.h"

#include <sys/syscall.h>

/* A command's bits 8 to 15 name the driver (asm-generic/ioctl.h). */
enum { DRIVER = 0xff00 };
#define COMMANDS_OF(driver) RULE(WITH_DEVICES, ioctl, IF, 1, DRIVER, (driver) << 8, PERMIT)
#define COMMAND(number) RULE(WITH_DEVICES, ioctl, IF, 1, ALL_BITS, number, PERMIT)

static const struct rule rules[] = {
	/* Render nodes: DRM_IOCTL_BASE of linux/drm.h. */
	COMMANDS_OF('d'),
	/* nvidiactl, nvidia0 and so on: NV_IOCTL_MAGIC of NVIDIA's nv-ioctl-numbers.h. */
	COMMANDS_OF('F'),
	/* nvidia-uvm: bare numbers (uvm_ioctl.h), its first and its last (uvm_linux_ioctl.h). */
	RULE(WITH_DEVICES, ioctl, IF, 1, ~0xffu, 0, PERMIT),
	COMMAND(0x30000001),
	COMMAND(0x30000002),
};
const struct rules device_rules = { rules, COUNT(rules) };
