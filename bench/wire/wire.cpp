// A wire between two network namespaces that delays packets and loses some: what `tc netem` does,
// on kernels without it too. Real TCP stacks stand at both ends, so Nagle's algorithm, delayed
// acknowledgements and retransmissions show as they do between two machines.
//
//   colock-bench-wire ONE_WAY_US LOSS_PERCENT [SEED]
//
// Makes two namespaces with a device `wire` each, 10.77.0.1 in the first and 10.77.0.2 in the
// second, and prints the paths of both, for setns(2). The namespaces have no name: they go when
// this process and those in them are gone. Needs CAP_SYS_ADMIN and CAP_NET_ADMIN.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <random>
#include <sched.h>
#include <span>
#include <string>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace {

using steady = std::chrono::steady_clock;
using std::chrono::microseconds;
using namespace std::chrono_literals;

int checked(int result, char const* what)
{
    if (result < 0)
        throw std::system_error{errno, std::generic_category(), what};
    return result;
}

/// One end of the wire.
struct end_point {
    int space = -1;   // the network namespace
    int device = -1;  // where its packets come out, and go in
};

ifreq request_for(char const* device)
{
    ifreq r{};
    std::strncpy(r.ifr_name, device, sizeof r.ifr_name - 1);
    return r;
}

void set_address(int control, unsigned long what, char const* address)
{
    auto r = request_for("wire");
    auto* const in = reinterpret_cast<sockaddr_in*>(&r.ifr_addr);
    in->sin_family = AF_INET;
    inet_pton(AF_INET, address, &in->sin_addr);
    checked(ioctl(control, what, &r), "address");
}

void bring_up(int control, char const* device)
{
    auto r = request_for(device);
    checked(ioctl(control, SIOCGIFFLAGS, &r), device);
    r.ifr_flags = static_cast<short>(r.ifr_flags | IFF_UP);
    checked(ioctl(control, SIOCSIFFLAGS, &r), device);
}

/// In a new network namespace, in which this process is afterwards.
end_point make_end(char const* address)
{
    checked(unshare(CLONE_NEWNET), "a network namespace");
    end_point made;
    made.space = checked(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), "/proc/self/ns/net");
    made.device = checked(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
    auto r = request_for("wire");
    r.ifr_flags = IFF_TUN | IFF_NO_PI;
    checked(ioctl(made.device, TUNSETIFF, &r), "a tun device");
    int const control = checked(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
    set_address(control, SIOCSIFADDR, address);
    set_address(control, SIOCSIFNETMASK, "255.255.255.0");
    // A burst of small packets isn't to be lost, but for the losses that were asked for.
    auto queue = request_for("wire");
    queue.ifr_qlen = 10'000;
    checked(ioctl(control, SIOCSIFTXQLEN, &queue), "the queue of the tun device");
    bring_up(control, "wire");
    bring_up(control, "lo");
    close(control);
    return made;
}

/// The packets under way in one direction.
class direction {
public:
    direction(int from, int to, microseconds delay) : from_{from}, to_{to}, delay_{delay} {}

    /// Takes what has come in, but for what gets lost.
    template <class Lost>
    void take(Lost lost)
    {
        std::array<char, 65536> buffer;
        for (;;) {
            auto const n = read(from_, buffer.data(), buffer.size());
            if (n <= 0)
                return;
            if (!lost())
                under_way_.push_back({steady::now() + delay_, {buffer.data(), buffer.data() + n}});
        }
    }

    /// Hands over what has arrived.
    void give(steady::time_point now)
    {
        while (!under_way_.empty() && under_way_.front().due <= now) {
            auto const& bytes = under_way_.front().bytes;
            // A device that takes no more loses the packet, as a full queue of a router does.
            [[maybe_unused]] auto const written = write(to_, bytes.data(), bytes.size());
            under_way_.pop_front();
        }
    }

    steady::time_point next_due(steady::time_point otherwise) const
    {
        return under_way_.empty() ? otherwise : under_way_.front().due;
    }

private:
    struct packet {
        steady::time_point due;
        std::vector<char> bytes;
    };

    int from_;
    int to_;
    microseconds delay_;
    std::deque<packet> under_way_;
};

[[noreturn]] void carry(end_point a, end_point b, microseconds delay, double loss, unsigned seed)
{
    std::mt19937_64 dice{seed};
    std::bernoulli_distribution falls{loss};
    auto const lost = [&] { return falls(dice); };
    direction there{a.device, b.device, delay};
    direction back{b.device, a.device, delay};
    // A sleep ends late by about that much; the rest is spun away.
    constexpr auto early = 40us;
    for (;;) {
        auto const now = steady::now();
        there.give(now);
        back.give(now);
        auto const due = there.next_due(back.next_due(now + 500ms));
        auto const until = due - steady::now() - early;
        auto const wait = std::max<steady::duration>(until, 0ns);
        timespec const time{0, std::chrono::nanoseconds{wait}.count()};
        pollfd ends[2] = {{a.device, POLLIN, 0}, {b.device, POLLIN, 0}};
        ppoll(ends, 2, &time, nullptr);
        there.take(lost);
        back.take(lost);
    }
}

int run(std::span<char*> arguments)
{
    if (arguments.size() < 3) {
        std::fputs("usage: colock-bench-wire ONE_WAY_US LOSS_PERCENT [SEED]\n", stderr);
        return 64;
    }
    microseconds const delay{std::stol(arguments[1])};
    double const loss = std::stod(arguments[2]) / 100;
    auto const seed = arguments.size() > 3 ? std::stoul(arguments[3]) : 1;
    prctl(PR_SET_TIMERSLACK, 1UL);
    auto const a = make_end("10.77.0.1");
    auto const b = make_end("10.77.0.2");
    auto const own = "/proc/" + std::to_string(getpid()) + "/fd/";
    std::printf("%s%d %s%d\n", own.c_str(), a.space, own.c_str(), b.space);
    std::fflush(stdout);
    carry(a, b, delay, loss, static_cast<unsigned>(seed));
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return run({argv, static_cast<std::size_t>(argc)});
    } catch (std::exception const& e) {
        std::fprintf(stderr, "colock-bench-wire: %s\n", e.what());
        return 1;
    }
}
