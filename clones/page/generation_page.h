/* SPDX-License-Identifier: 0BSD */
/* Reads a generation page, version 1 (clones/generation-page.md), or a vmclock device of Linux. For C11 and C++. */
#ifndef GENERATION_PAGE_H
#define GENERATION_PAGE_H

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maps the page. Returns its counter, or a null pointer if there is no page that this process may believe. The counter
 * is never unmapped. */
static inline const uint64_t *generation_page_map(const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	const int file = open(path, flags);
	const unsigned char *page = (const unsigned char *)MAP_FAILED;
	struct stat status;

	if (file < 0)
		return NULL;
	if (fstat(file, &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid()) && !(status.st_mode & 022) &&
	    (S_ISCHR(status.st_mode) || (S_ISREG(status.st_mode) && status.st_size == 4096)))
		page = (const unsigned char *)mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	close(file);
	if (page == (const unsigned char *)MAP_FAILED)
		return NULL;
	/* Magic number; version 1; at least 112 bytes; the flag VMCLOCK_FLAG_VM_GEN_COUNTER_PRESENT. */
	if (memcmp(page, "VCLK", 4) == 0 && page[8] == 1 && page[9] == 0 &&
	    (page[5] || page[6] || page[7] || page[4] >= 112) && page[25] & 1)
		return (const uint64_t *)(const void *)(page + 104);
	munmap((void *)page, 4096);
	return NULL;
}

/* The counter now. Load it before the secret state is read and again after the output was made: if the two differ, erase
 * the output and take fresh entropy first. Only equality counts. */
static inline uint64_t generation_page_count(const uint64_t *counter)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

/* Whether the page says that the kernel's generator took new keys for the present number, or could not, or says nothing of it
 * at all. A reader whose entropy is the kernel's alone waits for this, at most 100 ms, before it takes any. */
static inline int generation_page_kernel_is_done(const uint64_t *counter)
{
	const uint64_t number = generation_page_count(counter);
	const uint64_t kernel = generation_page_count(counter + (2048 - 104) / 8);

	return kernel == 0 || kernel == number || kernel == ~number;
}

#endif
