/* Switches a hooked process between the hook and the runtime it stands in for, so that both can be timed in one process.
 *
 * Whoever calls one of the runtime's functions finds its address in a slot that the loader has filled with ours. These slots
 * are looked for by the names in the objects' relocations; switching writes the one address or the other into all of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HOOKS_MOST = 128, SLOTS_MOST = 1024 };

struct hook {
    char name[256];
    void *ours, *real;
};
struct slot {
    void** place;
    const struct hook* hook;
};

static struct hook hooks[HOOKS_MOST];
static struct slot slots[SLOTS_MOST];
static unsigned hook_count, slot_count;

/* Only a note: opening it in the midst of the walk could wait for another thread for ever. */
static int note_runtime(struct dl_phdr_info* object, size_t size, void* path) {
    (void)size;
    if (strstr(object->dlpi_name, "/libtt_metal.so") == NULL) return 0;
    strncpy((char*)path, object->dlpi_name, PATH_MAX - 1);
    return 1;
}

/* A line for each hook: "hook", our name for it, the runtime's, what it is for. */
static void read_hooks(const char* text, void* hook, void* runtime) {
    for (; *text != '\0' && hook_count < HOOKS_MOST; text = strchr(text, '\n') + 1) {
        if (strncmp(text, "hook\t", 5) != 0) continue;
        const char* name = strchr(text + 5, '\t') + 1;
        const size_t length = (size_t)(strchr(name, '\t') - name);
        struct hook* one = &hooks[hook_count];
        if (length >= sizeof one->name) continue;
        memcpy(one->name, name, length);
        one->name[length] = '\0';
        one->ours = dlsym(hook, one->name);
        one->real = dlsym(runtime, one->name);
        if (one->ours != NULL && one->real != NULL) ++hook_count;
    }
}

static void note_slot(void** place, const char* name) {
    const long page = sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < hook_count && slot_count < SLOTS_MOST; ++i) {
        if (strcmp(name, hooks[i].name) != 0 || *place != hooks[i].ours) continue;
        void* begin = (void*)((uintptr_t)place & ~(uintptr_t)(page - 1)); /* the loader has made it read-only */
        if (mprotect(begin, (size_t)page, PROT_READ | PROT_WRITE) == 0)
            slots[slot_count++] = (struct slot){place, &hooks[i]};
    }
}

static int note_slots(struct dl_phdr_info* object, size_t size, void* hook_base) {
    (void)size;
    const ElfW(Dyn)* entry = NULL;
    for (int i = 0; i < object->dlpi_phnum; ++i)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn)*)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    if (entry == NULL || object->dlpi_name[0] == '\0' || object->dlpi_addr == (uintptr_t)hook_base) return 0;
    const ElfW(Rela) * parts[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};
    const ElfW(Sym)* symbols = NULL;
    const char* names = NULL;
    for (; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_RELA) parts[0] = (const ElfW(Rela)*)entry->d_un.d_ptr;
        if (entry->d_tag == DT_RELASZ) sizes[0] = entry->d_un.d_val;
        if (entry->d_tag == DT_JMPREL) parts[1] = (const ElfW(Rela)*)entry->d_un.d_ptr;
        if (entry->d_tag == DT_PLTRELSZ) sizes[1] = entry->d_un.d_val;
        if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym)*)entry->d_un.d_ptr;
        if (entry->d_tag == DT_STRTAB) names = (const char*)entry->d_un.d_ptr;
    }
    if (symbols == NULL || names == NULL || (uintptr_t)names < object->dlpi_addr)
        return 0; /* the kernel's own object */
    for (int part = 0; part < 2; ++part)
        for (size_t i = 0; parts[part] != NULL && i < sizes[part] / sizeof(ElfW(Rela)); ++i) {
            const ElfW(Rela)* one = &parts[part][i];
            const ElfW(Sym)* symbol = &symbols[ELF64_R_SYM(one->r_info)];
            if (symbol->st_name != 0) note_slot((void**)(object->dlpi_addr + one->r_offset), names + symbol->st_name);
        }
    return 0;
}

/* How many slots there are; once, and after the process has made every kind of call that is to be timed. */
unsigned find_slots(const char* hook_path) {
    char runtime_path[PATH_MAX] = "";
    dl_iterate_phdr(note_runtime, runtime_path);
    void* hook = dlopen(hook_path, RTLD_LAZY | RTLD_NOLOAD);
    void* runtime = runtime_path[0] == '\0' ? NULL : dlopen(runtime_path, RTLD_LAZY | RTLD_NOLOAD);
    if (hook == NULL || runtime == NULL) return 0;
    const char* (*told)(void) = (const char* (*)(void))dlsym(hook, "ttmem_hook_names");
    Dl_info itself;
    if (told == NULL || dladdr((void*)told, &itself) == 0) return 0;
    read_hooks(told(), hook, runtime);
    dl_iterate_phdr(note_slots, itself.dli_fbase);
    return slot_count;
}

void switch_hooks(int is_on) {
    for (unsigned i = 0; i < slot_count; ++i) *slots[i].place = is_on ? slots[i].hook->ours : slots[i].hook->real;
}
