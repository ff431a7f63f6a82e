/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Made by vectors/make-kernel-answers.py: change that, not this. For answers.c. */

#define STREAM_BYTES 5000
#define PSEUDO_SEED 1234567

static const struct stream_answer stream_answers[] = {
	{ WS_AES256, { 0x1, 0x0 },
	  "200fd7ebffeaba374db248c881a94e8bc3edccd9f58f542e85f17893ad59a2e4" },
	{ WS_AES256, { 0xffffffec, 0x0 },
	  "c6602af2a38e604120d07754c5e4db1e3449078ad5e6cd7d5569d0c1f8f10141" },
	{ WS_AES256, { 0xffffffffffffffec, 0x0 },
	  "b3cf6c009fbeaf0460ba4319abfc9ad05b0983785047777784706e0b1615f4f1" },
	{ WS_AES256, { 0xffffffffffffffec, 0xffffffffffffffff },
	  "534964e9e562b27df0d044b062707d01ae8acad97941a06e7c1c758607d4d2ec" },
	{ WS_CHACHA20, { 0x1, 0x0 },
	  "179af7f3ac40e994584f516a388f6aae93cf60f74a50dc302f3d87ed49d9d90a" },
	{ WS_CHACHA20, { 0xffffffec, 0x0 },
	  "710166bdf8e19bbe8b75e2bf77bd271f61ee57354514a3249865bf379d027fb3" },
	{ WS_CHACHA20, { 0xffffffffffffffec, 0x0 },
	  "45e581540371cf4ed19bd624587eac408832823ff39668b3a82e7b2ba89f3f2d" },
	{ WS_CHACHA20, { 0xffffffffffffffec, 0xffffffffffffffff },
	  "b63f46794dd892d0df543ffd0634d925a141582c027cb019c751f165ba8adea3" },
};

static const struct fortuna_answer fortuna_answers[] = {
	{ WS_CHACHA20, false,
	  "f1359ce6a6fe4488b632a9043dee9ac34de38c6d021daaa3340e0ea12adfa429",
	  "af7f0b9b08477cfd780efce5382aa1a2445c5b56926eeb60797443661fdace11" },
	{ WS_CHACHA20, true,
	  "f1359ce6a6fe4488b632a9043dee9ac34de38c6d021daaa3340e0ea12adfa429",
	  "af7f0b9b08477cfd780efce5382aa1a2445c5b56926eeb60797443661fdace11" },
	{ WS_AES256, false,
	  "290adf8e8b7544d94252957eefac30466ad10c45d0b324d477ad25a8e897802d",
	  "fd79a7abb383b03a8b10141ea1439a0ee950482c9ef6507a3c7a65bd6e1a2489" },
	{ WS_AES256, true,
	  "8cb2d78460fd2f87128c68f74f5f0da8e1498fdb56a7cf198b0fad3359f33215",
	  "e356fe611cf233ebf46364394578108cc706029ee99edfb9d8f3a10ad9aa5165" },
};

static const struct fortuna_event events[] = {
	{ 0x811c9dc5, 8, { 0x37, 0xd4, 0x71, 0x0e, 0xab, 0x48, 0xe5, 0x82 } },
	{ 0x821c9f58, 8, { 0x1f, 0xbc, 0x59, 0xf6, 0x93, 0x30, 0xcd, 0x6a } },
	{ 0x831ca0eb, 8, { 0x07, 0xa4, 0x41, 0xde, 0x7b, 0x18, 0xb5, 0x52 } },
	{ 0x841ca27e, 8, { 0xef, 0x8c, 0x29, 0xc6, 0x63, 0x00, 0x9d, 0x3a } },
	{ 0x851ca411, 8, { 0xd7, 0x74, 0x11, 0xae, 0x4b, 0xe8, 0x85, 0x22 } },
	{ 0x861ca5a4, 0, { } },
};

static const u16 read_lengths[] = {
	1, 0, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 100, 127, 128, 129
};

static const u64 pseudo_numbers[] = {
	0x599ed017fb08fc85,
	0x2c73f08458540fa5,
	0x883ebce5a3f27c77,
	0x3fbef740e9177b3f,
	0xe3b8346708cb5ecd,
	0x6c4f7dbc989944f6,
	0x9734aed70f5d5e85,
	0x46793dd6f7df31b1,
};
