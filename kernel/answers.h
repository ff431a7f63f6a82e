/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef WELLSPRING_ANSWERS_H
#define WELLSPRING_ANSWERS_H

/* Checks known answers: 0; -EBADMSG if one is wrong; -ENOMEM. */
int ws_answers_check(void);

#endif
