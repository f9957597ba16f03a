/* other_abi.c - makes the file that is its first argument, by the system calls of another ABI: i386 with -m32, x32 with
 * -mx32. No library: the tests' machine need not have one for either. Exit 0: made; 1: refused. */
#ifdef __i386__
enum { NR_OPEN = 5, NR_EXIT = 1 };
static long call(unsigned long nr, unsigned long a, unsigned long b, unsigned long c)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}
__asm__(".globl _start\n_start:\n\tpop %eax\n\tpop %eax\n\tpop %eax\n\tpush %eax\n\tcall begin\n");
#else
enum { X32 = 0x40000000, NR_OPEN = X32 + 2, NR_EXIT = X32 + 60 };
static long call(unsigned long nr, unsigned long a, unsigned long b, unsigned long c)
{
	long result;
	register unsigned long long rdi __asm__("rdi") = a, rsi __asm__("rsi") = b, rdx __asm__("rdx") = c;

	__asm__ volatile("syscall" : "=a"(result) : "a"(nr), "r"(rdi), "r"(rsi), "r"(rdx) : "rcx", "r11", "memory");
	return result;
}
__asm__(".globl _start\n_start:\n\tmovl 8(%esp), %edi\n\tcall begin\n");
#endif

void begin(const char *path);

void begin(const char *path)
{
	long fd = call(NR_OPEN, (unsigned long)path, 0101 /* O_WRONLY | O_CREAT */, 0644);

	call(NR_EXIT, fd < 0, 0, 0);
	for (;;)
		__asm__ volatile("hlt"); /* not even that was allowed */
}
