/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The outer edges of the module, which main.c starts and stops. Nothing calls them.
 */
#ifndef WELLSPRING_DOORS_H
#define WELLSPRING_DOORS_H

int ws_clone_detection_init(void);
void ws_clone_detection_exit(void);
int ws_device_init(void);
void ws_device_exit(void);
void ws_debugfs_init(void);
void ws_debugfs_exit(void);
void ws_rng_init(void);
void ws_rng_exit(void);

#endif
